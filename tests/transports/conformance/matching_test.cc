// Messages meet receives by tag and in order; refusals, cancels and full queues leave the link usable.
#include <memory>

#include "tests/transports/conformance/suite.h"

namespace goss::tests {
namespace {

GOSS_TRANSPORT_SUITE(TransportMatching, allTransports());

/// A message that takes a while, and waits for its receive.
const std::size_t kHuge = fullOr(20u << 20, 6u << 20);

TEST_P(TransportMatching, EqualTagsKeepTheirOrderWhateverTheirSize) {
  constexpr int kMessages = 200;
  auto sizeOf = [](int i) { return static_cast<std::size_t>(i % 7 == 0 ? 50000 + i : i); };
  runThreads(GetParam(), 2, [&](Node& node) {
    if (node.rank() == 0) {
      std::vector<std::unique_ptr<TestSend>> ops;
      for (int i = 0; i < kMessages; ++i) {
        ops.push_back(std::make_unique<TestSend>(node, 1, 9, pattern(sizeOf(i), static_cast<std::uint64_t>(i))));
        ops.back()->post();
      }
      for (auto& op : ops)
        ASSERT_TRUE(node.until([&] { return op->done(); }));
    } else {
      for (int i = 0; i < kMessages; ++i)
        recvMessage(node, 0, 9, sizeOf(i), static_cast<std::uint64_t>(i));
    }
  });
}

TEST_P(TransportMatching, DifferentTagsAreIndependent) {
  constexpr int kTags = 20;
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 0) {
      for (int i = 0; i < kTags; ++i)
        sendMessage(node, 1, static_cast<Tag>(i), 1000, static_cast<std::uint64_t>(i));
    } else {
      for (int i = kTags - 1; i >= 0; --i)
        recvMessage(node, 0, static_cast<Tag>(i), 1000, static_cast<std::uint64_t>(i));
    }
  });
}

TEST_P(TransportMatching, ManyReceivesPostedBeforeAnyMessage) {
  constexpr int kMessages = 50;
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 1) {
      std::vector<std::unique_ptr<TestRecv>> ops;
      for (int i = 0; i < kMessages; ++i) {
        ops.push_back(std::make_unique<TestRecv>(node, 0, static_cast<Tag>(i % 3), 4000));
        ops.back()->post();
      }
      ASSERT_TRUE(node.barrier());
      for (int i = 0; i < kMessages; ++i) {
        expectMessage(node, *ops[static_cast<std::size_t>(i)], 4000, static_cast<std::uint64_t>(i));
      }
    } else {
      ASSERT_TRUE(node.barrier());
      for (int i = 0; i < kMessages; ++i) {
        sendMessage(node, 1, static_cast<Tag>(i % 3), 4000, static_cast<std::uint64_t>(i));
      }
    }
  });
}

TEST_P(TransportMatching, ARefusedMessageIsDroppedAndTheLinkGoesOn) {
  runThreads(GetParam(), 2, [](Node& node) {
    for (std::size_t size : {0u, 100u, 300000u, 5000000u}) {
      if (node.rank() == 0) {
        sendMessage(node, 1, 1, size, 1);
        sendMessage(node, 1, 1, size, 2);
        continue;
      }
      TestRecv refused(node, 0, 1, size);
      refused.refuse = true;
      refused.post();
      ASSERT_TRUE(node.until([&] { return refused.done(); }));
      EXPECT_EQ(refused.status.kind(), GOSS_ERR_MISMATCH);
      recvMessage(node, 0, 1, size, 2);
    }
  });
}

TEST_P(TransportMatching, ALongMessageFailsTheReceiveAloneAndTouchesNothingBehindIt) {
  runThreads(GetParam(), 2, [](Node& node) {
    for (TestRecv::Kind kind : {TestRecv::Kind::scatter, TestRecv::Kind::views}) {
      for (std::size_t size : {101u, 300000u}) {
        if (node.rank() == 0) {
          sendMessage(node, 1, 1, size, 1);
          sendMessage(node, 1, 1, size, 2);
          continue;
        }
        TestRecv small(node, 0, 1, 100, kind);
        small.post();
        ASSERT_TRUE(node.until([&] { return small.done(); }));
        EXPECT_EQ(small.status.kind(), GOSS_ERR_TRUNCATED);
        recvMessage(node, 0, 1, size, 2);
      }
    }
  });
}

TEST_P(TransportMatching, ACancelledReceiveIsForgotten) {
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 1) {
      TestRecv gone(node, 0, 1, 100), kept(node, 0, 1, 100);
      gone.post();
      kept.post();
      node.driveFor(std::chrono::milliseconds(2));
      gone.cancel();
      ASSERT_TRUE(node.barrier());
      expectMessage(node, kept, 100, 1);
      EXPECT_EQ(gone.completions + gone.matches, 0);
    } else {
      ASSERT_TRUE(node.barrier());
      sendMessage(node, 1, 1, 100, 1);
    }
  });
}

TEST_P(TransportMatching, AReceiveCancelledInTheMiddleOfItsMessageDropsTheRest) {
  constexpr std::size_t kBytes = 8u << 20;
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 0) {
      sendMessage(node, 1, 1, kBytes, 1);
      sendMessage(node, 1, 1, 1000, 2);
      return;
    }
    auto gone = std::make_unique<TestRecv>(node, 0, 1, std::size_t{kBytes}, TestRecv::Kind::views);
    int views = 0;
    gone->on_data = [&] {
      if (++views == 1) gone->cancel();
    };
    gone->post();
    ASSERT_TRUE(node.until([&] { return views > 0; }));
    EXPECT_EQ(gone->completions, 0);
    gone.reset();
    EXPECT_EQ(views, 1);
    recvMessage(node, 0, 1, 1000, 2);
  });
}

TEST_P(TransportMatching, AReceiveCancelledWhenItIsMatched) {
  runThreads(GetParam(), 2, [](Node& node) {
    if (node.rank() == 0) {
      sendMessage(node, 1, 1, 300000, 1);
      sendMessage(node, 1, 1, 1000, 2);
      return;
    }
    TestRecv gone(node, 0, 1, 300000);
    gone.on_match = [&] { gone.cancel(); };
    gone.post();
    ASSERT_TRUE(node.until([&] { return gone.matches > 0; }));
    recvMessage(node, 0, 1, 1000, 2);
    EXPECT_EQ(gone.completions, 0);
  });
}

TEST_P(TransportMatching, CallbacksMayPostTheNextOperations) {
  // A ping-pong that lives in callbacks alone, as the executor's does.
  constexpr int kRounds = 300;
  runThreads(GetParam(), 2, [](Node& node) {
    int other = 1 - node.rank();
    int rounds = 0;
    TestSend out(node, other, 4, pattern(20000, 4));
    TestRecv in(node, other, 4, 20000);
    auto next = [&] {
      if (out.completions < rounds || in.completions < rounds || rounds == kRounds) return;
      ++rounds;
      in.post();
      out.post();
    };
    in.then = out.then = next;
    next();
    // A send that completes at once calls nobody, so the loop looks as well.
    ASSERT_TRUE(node.until([&] {
      next();
      return rounds == kRounds && in.completions == kRounds && out.completions == kRounds;
    }));
    EXPECT_TRUE(isPattern(in.received(), 4));
  });
}

TEST_P(TransportMatching, ASenderIsHeldBackAtTheLimitForUnexpectedMessagesAndRecovers) {
  Config config;
  config.unexpected_bytes = 256 * 1024;
  config.shm_ring_bytes = 64 * 1024;
  const int messages = fullOr(400, 100);
  constexpr std::size_t kBytes = 100 * 1024; // 40 MB, or 10 under a sanitizer: more than any transport buffers.
  runThreads(
      GetParam(), 3,
      [messages](Node& node) {
        if (node.rank() == 0) {
          std::vector<std::unique_ptr<TestSend>> ops;
          for (int i = 0; i < messages; ++i) {
            ops.push_back(std::make_unique<TestSend>(node, 1, 1, pattern(kBytes, static_cast<std::uint64_t>(i))));
            ops.back()->post();
          }
          node.driveFor(std::chrono::milliseconds(100));
          EXPECT_FALSE(ops.back()->done()) << "the receiver kept everything";
          ASSERT_TRUE(node.barrier());
          for (auto& op : ops)
            ASSERT_TRUE(node.until([&] { return op->done(); }));
        } else if (node.rank() == 1) {
          node.driveFor(std::chrono::milliseconds(50));
          recvMessage(node, 2, 1, 5000, 77); // Others are not held back.
          ASSERT_TRUE(node.barrier());
          for (int i = 0; i < messages; ++i)
            recvMessage(node, 0, 1, kBytes, static_cast<std::uint64_t>(i));
        } else {
          sendMessage(node, 1, 1, 5000, 77);
          ASSERT_TRUE(node.barrier());
        }
      },
      config);
}

TEST_P(TransportMatching, ManySmallUnexpectedMessagesAreBoundedToo) {
  Config config;
  config.unexpected_bytes = 64 * 1024;
  config.shm_ring_bytes = 64 * 1024;
  const int messages = fullOr(20000, 3000);
  runThreads(
      GetParam(), 2,
      [messages](Node& node) {
        if (node.rank() == 0) {
          std::vector<std::unique_ptr<TestSend>> ops;
          for (int i = 0; i < messages; ++i) {
            ops.push_back(std::make_unique<TestSend>(node, 1, 1, pattern(8, static_cast<std::uint64_t>(i))));
            ops.back()->post();
          }
          ASSERT_TRUE(node.barrier());
          for (auto& op : ops)
            ASSERT_TRUE(node.until([&] { return op->done(); }));
        } else {
          ASSERT_TRUE(node.barrier());
          for (int i = 0; i < messages; ++i)
            recvMessage(node, 0, 1, 8, static_cast<std::uint64_t>(i));
        }
      },
      config);
}

TEST_P(TransportMatching, AWholeMessageThatWasCancelledDoesNotHoldBackTheNext) {
  Config config;
  config.unexpected_bytes = 64 * 1024;
  runThreads(
      GetParam(), 2,
      [](Node& node) {
        if (node.rank() == 0) {
          // The first is on its way and stays; of the second nothing is, so it can vanish without a trace.
          TestSend first(node, 1, 1, pattern(kHuge, 1));
          first.post();
          node.driveFor(std::chrono::milliseconds(5));
          auto second = std::make_unique<TestSend>(node, 1, 2, pattern(1000, 2));
          second->post();
          if (!second->done()) second->cancel();
          bool vanished = !second->done();
          second.reset();
          TestSend third(node, 1, 2, pattern(1000, vanished ? 2 : 3));
          third.post();
          ASSERT_TRUE(node.barrier());
          ASSERT_TRUE(node.until([&] { return first.done() && third.done(); }));
        } else {
          ASSERT_TRUE(node.barrier());
          recvMessage(node, 0, 1, kHuge, 1);
          recvMessage(node, 0, 2, 1000, 2);
        }
      },
      config);
}

TEST_P(TransportMatching, AMessageCancelledHalfWayArrivesWholeOrNeverWas) {
  Config config;
  config.unexpected_bytes = 64 * 1024;
  runThreads(
      GetParam(), 2,
      [](Node& node) {
        if (node.rank() == 0) {
          auto first = std::make_unique<TestSend>(node, 1, 1, pattern(kHuge, 1));
          first->post();
          ASSERT_TRUE(node.barrier()); // The receive is posted now.
          node.driveFor(std::chrono::milliseconds(2));
          const bool sent = first->done();
          if (!sent) first->cancel();
          first.reset(); // The bytes are gone.
          TestSend second(node, 1, 1, pattern(kHuge, 1));
          second.post();
          ASSERT_TRUE(node.until([&] { return second.done(); }));
          ASSERT_TRUE(node.barrier());
        } else {
          TestRecv recv(node, 0, 1, kHuge);
          recv.may_be_taken_back = true;
          recv.post();
          ASSERT_TRUE(node.barrier());
          ASSERT_TRUE(node.until([&] { return recv.done(); }));
          EXPECT_TRUE(recv.status.isOk()) << recv.status.text();
          EXPECT_TRUE(isPattern(recv.received(), 1));
          node.transport().discard(~Tag{0}, 1);
          ASSERT_TRUE(node.barrier());
        }
        EXPECT_EQ(node.transport().link(1 - node.rank()), LinkState::ready);
      },
      config);
}

TEST_P(TransportMatching, DiscardedMessagesDoNotHoldBackOthers) {
  Config config;
  config.unexpected_bytes = 64 * 1024;
  runThreads(
      GetParam(), 2,
      [](Node& node) {
        constexpr Tag kMask = Tag{0xff} << 56;
        constexpr Tag kOld = Tag{7} << 56;
        constexpr Tag kNew = Tag{8} << 56;
        if (node.rank() == 0) {
          std::vector<std::unique_ptr<TestSend>> old;
          for (Tag i = 0; i < 8; ++i) {
            old.push_back(std::make_unique<TestSend>(node, 1, kOld + i, pattern(i % 2 == 0 ? 30000 : 1u << 20, i)));
            old.back()->post();
          }
          TestSend wanted(node, 1, kNew, pattern(1000, 9));
          wanted.post();
          ASSERT_TRUE(node.until([&] { return wanted.done(); }));
          ASSERT_TRUE(node.barrier());
          for (auto& send : old)
            if (!send->done()) send->cancel();
        } else {
          node.driveFor(std::chrono::milliseconds(20)); // Some of them are kept already.
          node.transport().discard(kMask, kOld);
          recvMessage(node, 0, kNew, 1000, 9);
          ASSERT_TRUE(node.barrier());
        }
      },
      config);
}

TEST_P(TransportMatching, AMessageLongerThanTheLimitWaitsForItsReceive) {
  Config config;
  config.unexpected_bytes = 64 * 1024;
  // More than two connections that can be resumed keep by themselves.
  const std::size_t bytes = fullOr(96u << 20, 12u << 20);
  runThreads(
      GetParam(), 2,
      [bytes](Node& node) {
        if (node.rank() == 0) {
          TestSend op(node, 1, 1, pattern(bytes, 3));
          op.post();
          node.driveFor(std::chrono::milliseconds(20));
          EXPECT_FALSE(op.done());
          ASSERT_TRUE(node.barrier());
          ASSERT_TRUE(node.until([&] { return op.done(); }));
        } else {
          ASSERT_TRUE(node.barrier());
          recvMessage(node, 0, 1, bytes, 3);
        }
      },
      config);
}

/// Receives from any rank as the library does: peeks for a message, and posts the receive for it.
TEST_P(TransportMatching, AMessageThatIsPeekedAtMeetsItsReceiveInTheNextTurn) {
  const std::size_t sizes[] = {8, 5000, 300000, kHuge};
  runThreads(GetParam(), 3, [&](Node& node) {
    std::vector<std::unique_ptr<TestSend>> sends;
    Arrived found;
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::size_t bytes = sizes[i];
      if (node.rank() > 0) {
        sends.push_back(std::make_unique<TestSend>(node, 0, 64 + i, pattern(bytes, i)));
        sends.back()->post();
      } else {
        for (const int peer : {2, 1}) {
          ASSERT_FALSE(node.transport().peek(peer, ~Tag{0}, 64 + i + 1, found)) << "not sent yet";
          ASSERT_TRUE(node.until([&] { return node.transport().peek(peer, ~Tag{63}, 64, found); })) << bytes;
          EXPECT_EQ(found.tag, 64 + i);
          EXPECT_EQ(found.bytes, bytes);
          TestRecv op(node, peer, 64 + i, bytes);
          op.post();
          EXPECT_FALSE(node.transport().peek(peer, ~Tag{63}, 64, found)) << "it has its receive";
          ASSERT_EQ(op.matches, 0);
          node.turn();
          EXPECT_EQ(op.matches, 1) << bytes;
          expectMessage(node, op, bytes, i);
        }
      }
      for (auto& send : sends)
        ASSERT_TRUE(node.until([&] { return send->done(); }));
      ASSERT_TRUE(node.barrier());
    }
  });
}

} // namespace
} // namespace goss::tests
