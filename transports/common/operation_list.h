/// A first-in first-out list of operations, linked through their TransportHook: adding allocates nothing.
#ifndef GOSS_TRANSPORTS_COMMON_OPERATION_LIST_H_
#define GOSS_TRANSPORTS_COMMON_OPERATION_LIST_H_

namespace goss::transports {

/// Operation is SendOperation or RecvOperation. An operation is in at most one list. Owns nothing; one thread.
template <typename Operation>
class OperationList {
 public:
  [[nodiscard]] bool empty() const { return head_ == nullptr; }
  [[nodiscard]] Operation* front() const { return head_; }
  [[nodiscard]] static Operation* next(const Operation& operation) {
    return static_cast<Operation*>(operation.hook.next);
  }

  void pushBack(Operation& operation) {
    operation.hook.next = nullptr;
    operation.hook.previous = tail_;
    if (tail_) {
      tail_->hook.next = &operation;
    } else {
      head_ = &operation;
    }
    tail_ = &operation;
  }

  void pushFront(Operation& operation) {
    operation.hook.previous = nullptr;
    operation.hook.next = head_;
    if (head_) {
      head_->hook.previous = &operation;
    } else {
      tail_ = &operation;
    }
    head_ = &operation;
  }

  /// `operation` must be in this list.
  void remove(Operation& operation) {
    Operation* before = static_cast<Operation*>(operation.hook.previous);
    Operation* after = static_cast<Operation*>(operation.hook.next);
    if (before) {
      before->hook.next = after;
    } else {
      head_ = after;
    }
    if (after) {
      after->hook.previous = before;
    } else {
      tail_ = before;
    }
    operation.hook.next = operation.hook.previous = nullptr;
  }

  /// The oldest operation, removed; null when empty.
  Operation* popFront() {
    Operation* operation = head_;
    if (operation) remove(*operation);
    return operation;
  }

  /// Whether the list holds the operation. Linear in its length; only cancel() calls it.
  [[nodiscard]] bool contains(const Operation& operation) const {
    for (const Operation* at = head_; at; at = next(*at)) {
      if (at == &operation) return true;
    }
    return false;
  }

 private:
  Operation* head_ = nullptr;
  Operation* tail_ = nullptr;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_OPERATION_LIST_H_
