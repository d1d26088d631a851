package abi

// #include <stdlib.h>
import "C"
import "unsafe"

// Text copies a C string; NULL is "".
func Text(text unsafe.Pointer) string {
	return C.GoString((*C.char)(text))
}

// NewText is a C string, which Release frees.
func NewText(text string) unsafe.Pointer {
	return unsafe.Pointer(C.CString(text))
}

// NewMemory is memory of C of so many bytes, at least one, all zero, which Release frees.
func NewMemory(bytes uintptr) unsafe.Pointer {
	return C.calloc(1, C.size_t(bytes+1))
}

// Exit ends the process as C programs end: the library takes leave of the launcher.
func Exit(code int) {
	C.exit(C.int(code))
}

// Release frees what NewText and NewMemory have made.
func Release(memory unsafe.Pointer) {
	C.free(memory)
}
