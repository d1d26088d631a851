// wrong: \[\]string does not implement gossamer\.Memory

// Package program sends text, which is no element.
package program

import "gossamer"

func Use(peer int) {
	gossamer.Send([]byte("text"), peer, 0)
	// wrong> gossamer.Send([]string{"text"}, peer, 0)
}
