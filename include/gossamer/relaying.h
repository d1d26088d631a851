/// An optional part of the transport seam: a rank that relays bytes between two others that cannot reach each other.
#ifndef GOSSAMER_RELAYING_H_
#define GOSSAMER_RELAYING_H_

namespace goss {

/// One thread at a time uses it, as it does its transport; it lives as long as the transport.
class Relaying {
 public:
  virtual ~Relaying() = default;
  /// Whether this rank relays other ranks' bytes now. Then progress() is to be called for them while no operation of
  /// this rank is pending.
  [[nodiscard]] virtual bool servesOthers() const = 0;
  /// The rank that relays between this one and `peer`, where the two cannot connect; -1: none.
  [[nodiscard]] virtual int relayedBy(int peer) const = 0;
};

} // namespace goss

#endif // GOSSAMER_RELAYING_H_
