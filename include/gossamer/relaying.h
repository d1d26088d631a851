/// An optional part of the transport seam: ranks that pass on bytes between two others that cannot reach each other.
#ifndef GOSSAMER_RELAYING_H_
#define GOSSAMER_RELAYING_H_

namespace goss {

/// Used by one thread at a time, as its transport, and lives as long as that.
class Relaying {
 public:
  virtual ~Relaying() = default;
  /// Whether other ranks' bytes pass through this one now. Then progress() is to be called for them while nothing of
  /// this rank is pending.
  [[nodiscard]] virtual bool servesOthers() const = 0;
  /// The rank that passes on what goes to and comes from `peer`, where the two cannot call each other; -1: none.
  [[nodiscard]] virtual int relayedBy(int peer) const = 0;
};

} // namespace goss

#endif // GOSSAMER_RELAYING_H_
