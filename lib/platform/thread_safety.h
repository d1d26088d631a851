/// Which functions and data need the engine's lock: Clang's thread-safety analysis (-Wthread-safety) checks their
/// users.
#ifndef GOSS_LIB_PLATFORM_THREAD_SAFETY_H_
#define GOSS_LIB_PLATFORM_THREAD_SAFETY_H_

#if defined(__clang__)
#define GOSS_THREAD_SAFETY(...) __attribute__((__VA_ARGS__))
#else
#define GOSS_THREAD_SAFETY(...)
#endif

/// The function is called by a thread that holds its engine's lock. Stands behind the parameters and `const`.
#define GOSS_ON_LOOP GOSS_THREAD_SAFETY(requires_capability(::goss::kEngineLock))

/// The data member is used only by threads that hold its engine's lock. Stands behind the member's name.
#define GOSS_GUARDED GOSS_THREAD_SAFETY(guarded_by(::goss::kEngineLock))

/// The function itself takes or releases the lock.
#define GOSS_LOCKS GOSS_THREAD_SAFETY(acquire_capability(::goss::kEngineLock), no_thread_safety_analysis)
#define GOSS_UNLOCKS GOSS_THREAD_SAFETY(release_capability(::goss::kEngineLock), no_thread_safety_analysis)
/// The function returns an object that holds the lock. Before version 16 Clang looks at the object's move constructor.
#if defined(__clang__) && __clang_major__ < 16
#define GOSS_RETURNS_LOCK GOSS_THREAD_SAFETY(no_thread_safety_analysis)
#else
#define GOSS_RETURNS_LOCK GOSS_LOCKS
#endif

namespace goss {

class GOSS_THREAD_SAFETY(capability("engine's lock")) EngineLock {};

/// Stands for the lock of every engine, because a compiler cannot know which references are to the same engine.
inline constexpr EngineLock kEngineLock;

/// The caller needs no lock, because no other thread can be inside.
inline void assumeAlone() GOSS_THREAD_SAFETY(assert_capability(kEngineLock)) {}

} // namespace goss

#endif // GOSS_LIB_PLATFORM_THREAD_SAFETY_H_
