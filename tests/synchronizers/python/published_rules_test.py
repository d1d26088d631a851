"""Methods of gossip, votes and replicas against their published rules, written in numpy from the papers' formulas.

20 steps on 4 ranks (threads) of a quadratic whose gradients depend on the parameters. The library computes in float32, the
references in float64: after 20 contracting steps of numbers near 1 they differ by less than 20 * 8 * 2^-24 < 1e-5. Where a codec
rounds to float16, a value next to a tie may round the other way: by 2^-11 of differences below 1, hence 2^-9 over the steps.
"""

import itertools
import threading
import unittest

import gossamer
import numpy as np

RANKS, STEPS, ELEMENTS, LR = 4, 20, 13, 0.125
EXACT, HALF = 1e-5, 2.0**-9
random = np.random.default_rng(7)
CURVATURE = random.uniform(0.2, 1.0, (RANKS, ELEMENTS))
MINIMUM = random.uniform(-1.0, 1.0, (RANKS, ELEMENTS))
START = random.uniform(-1.0, 1.0, ELEMENTS).astype("float32").astype("float64")


def gradient(rank, x):
    return CURVATURE[rank] * (x - MINIMUM[rank])


def gradients(x):
    return np.array([gradient(rank, x[rank]) for rank in range(RANKS)])


def loss(rank, x):
    return float((CURVATURE[rank] * (x - MINIMUM[rank]) ** 2).sum() / 2)


def library(spec, active=STEPS, losses=False):
    """Parameters after each step: [step][rank][element], and those after finish(). Gradients are zero from step `active` on. Where
    results depend on the order of the ranks' steps, the ranks make each step one after the other. losses: gradients are not given."""
    takes_turns = {method["name"]: method["depends_on_time"] for method in gossamer.sync_methods()}[spec.split(":")[0]]
    takes_turns = takes_turns or "wait=0" in spec
    unique_id, result, finished, failures = gossamer.UniqueId(), np.zeros((STEPS, RANKS, ELEMENTS)), np.zeros((RANKS, ELEMENTS)), []

    def body(rank):
        try:
            with gossamer.init(rank, RANKS, bytes(unique_id) if rank else unique_id, timeout=60) as comm:
                x, g = START.astype("float32"), np.zeros(ELEMENTS, "float32")
                tensors = [("a", x[:5], g[:5]), ("b", x[5:6], g[5:6]), ("c", x[6:], g[6:])]
                with gossamer.Synchronizer(tensors, spec, comm=comm) as sync:
                    sync.set_lr(LR)
                    if losses:
                        sync.set_loss(lambda: loss(rank, x.astype("float64")))
                    for step, turn in itertools.product(range(STEPS), range(RANKS) if takes_turns else [rank]):
                        if turn == rank:
                            g[:] = gradient(rank, x.astype("float64")) * (step < active) * (not losses)
                            sync.gradients()
                            x -= np.float32(LR) * g
                            sync.step()
                            result[step, rank] = x
                        if takes_turns:
                            comm.barrier()
                    sync.finish()
                    finished[rank] = x
        except BaseException as error:  # pylint: disable=broad-except
            failures.append(error)
            raise

    threads = [threading.Thread(target=body, args=(rank,)) for rank in range(RANKS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(100)
    if failures:
        raise failures[0]
    return result, finished


def matrices(spec):
    """The mixing matrices of a period, written out."""
    ring = np.array([[1, 1, 0, 1], [1, 1, 1, 0], [0, 1, 1, 1], [1, 0, 1, 1]]) / 3
    if spec == "ring":
        return [ring]
    if spec == "one-peer-exponential":  # rank i hears of i - 2^t
        return [(np.eye(4) + np.roll(np.eye(4), 2**t, axis=0)) / 2 for t in range(2)]
    if spec == "grid:2x2":
        return [np.kron(np.ones((2, 2)) / 2, np.eye(2)), np.kron(np.eye(2), np.ones((2, 2)) / 2)]
    if spec == "star:weights=push-sum":  # a rank cuts its vector into equal parts: columns
        return [np.array([[1 / 4, 1 / 2, 1 / 2, 1 / 2], [1 / 4, 1 / 2, 0, 0], [1 / 4, 0, 1 / 2, 0], [1 / 4, 0, 0, 1 / 2]])]
    raise ValueError(spec)


def start():
    return np.tile(START, (RANKS, 1))


def half(values):
    """Codec fp16."""
    return values.astype("float32").astype("float16").astype("float64")


def mean(x):
    return np.tile(x.mean(axis=0), (RANKS, 1))


def dpsgd(topology="ring"):
    x, w = start(), matrices(topology)
    for t in range(STEPS):
        x = w[t % len(w)] @ x - LR * gradients(x)
        yield x


def gossipgrad(seed):
    """After each period of two steps the ranks take other places."""
    x, w = start(), matrices("one-peer-exponential")
    for t in range(STEPS):
        number = t // 2 % (RANKS + 1)
        order = shuffled(seed, number) if number else list(range(RANKS))
        moved = np.zeros((RANKS, RANKS))
        moved[np.ix_(order, order)] = w[t % 2]
        x = moved @ (x - LR * gradients(x))
        yield x


def async_average(h, tau):
    """A copy made tau steps before step k h is averaged and applied there."""
    x, copy = start(), None
    for t in range(1, STEPS + 1):
        x = x - LR * gradients(x)
        if t % h == 0 and copy is not None:
            x = x + mean(copy) - copy
        if (t + tau) % h == 0:
            copy = x
        yield x


def papa(h, alpha, lr0):
    x = start()
    for t in range(1, STEPS + 1):
        x = x - LR * gradients(x)
        if t % h == 0:
            pull = (1 - alpha) * LR / lr0
            x = (1 - pull) * x + pull * mean(x)
        yield x


def osgp(topology, tau):
    x, mass, p = start(), np.ones((RANKS, 1)), matrices(topology)
    flying, flying_mass = np.zeros_like(x), np.zeros_like(mass)
    for t in range(STEPS):
        x = x - LR * gradients(x / mass)
        if t % tau == 0:
            w = p[t // tau % len(p)]
            kept, sent = np.diag(np.diag(w)), w - np.diag(np.diag(w))
            x, flying = kept @ x + flying, sent @ x
            mass, flying_mass = kept @ mass + flying_mass, sent @ mass
        yield x / mass
    np.testing.assert_allclose((mass + flying_mass).sum(), RANKS)
    yield mean(x + flying)


def pairwise(partners, seed, h=1, momentum=False):
    """Each rank in turn: its update, and the mean with one partner. `partners`: those of each rank. momentum: A2CiD2."""
    x, seen, shadow = start(), start(), start()
    part, factor = 0, 0
    if momentum:
        laplacian = np.zeros((RANKS, RANKS))
        for i, j in ((i, j) for i in range(RANKS) for j in partners[i]):
            edge = np.eye(RANKS)[i] - np.eye(RANKS)[j]
            laplacian += np.outer(edge, edge) / (h * len(partners[i]))
        inverse = np.linalg.pinv(laplacian)
        chi1 = np.linalg.eigvalsh(inverse)[-1]
        chi2 = max(inverse[i, i] + inverse[j, j] - 2 * inverse[i, j] for i in range(RANKS) for j in partners[i]) / 2
        part, factor = (1 - np.exp(-1 / np.sqrt(chi1 * chi2))) / 2, np.sqrt(chi1 / chi2)
    for t in range(1, STEPS + 1):
        for i in range(RANKS):
            update, mixed = -LR * gradient(i, seen[i]), part * (shadow[i] - x[i])
            x[i], shadow[i] = x[i] + update + mixed, shadow[i] + update - mixed
            if t % h == 0:
                state = seed * 0x9E3779B97F4A7C15 + t * RANKS + i + 0x9E3779B97F4A7C15
                j = partners[i][splitmix(state) % len(partners[i])]
                half_way = (x[i] - x[j]) / 2
                x[i], x[j] = x[i] - half_way, x[j] + half_way
                shadow[i], shadow[j] = shadow[i] - factor * half_way, shadow[j] + factor * half_way
            seen[i] = x[i]
        yield seen.copy()
    yield mean((x + shadow) / 2 if momentum else x)  # what others have averaged since a rank's last step counts, too


def zero_one_adam(beta1, beta2, eps, freeze, kappa, double_every, longest):
    """The counters of DeepSpeed's zoadam.py, step by step."""
    x, m, v = start(), np.zeros((RANKS, ELEMENTS)), np.zeros(ELEMENTS)
    u, rates, distance, counter = np.zeros((RANKS, ELEMENTS)), 0, 1, 0
    for t in range(1, STEPS + 1):
        g = gradients(x)
        if t <= freeze:
            g = mean(g)
            if t % distance == 0:
                v = beta2 * v + (1 - beta2) * g[0] ** 2
                counter += 1
                if counter == kappa:
                    counter, distance = 0, 2 * distance
            if t == freeze:
                counter, distance = 0, 1
        m = beta1 * m + (1 - beta1) * g
        step = LR * m / (np.sqrt(v) + eps)
        x = x - step
        if t > freeze:
            u, rates = u + step, rates + LR
            if t % distance == 0:
                total = mean(u * (np.sqrt(v) + eps))
                x = x + u - total / (np.sqrt(v) + eps)
                m, u, rates = total / rates, 0 * u, 0
            counter += 1
            if counter == double_every:
                counter, distance = 0, min(2 * distance, longest)
        yield x


def mixed_behind(topology, period=0):
    x, w = start(), matrices(topology)
    for t in range(STEPS):
        x = x - LR * gradients(x)
        x = mean(x) if period and (t + 1) % period == 0 else w[t % len(w)] @ x
        yield x


def moshpit(h):
    x, w = start(), matrices("grid:2x2")
    for t in range(STEPS):
        x = x - LR * gradients(x)
        if (t + 1) % h == 0:
            x = w[1] @ w[0] @ x
        yield x


def moshpit_by_rounds():
    x, w = start(), matrices("grid:2x2")
    for t in range(STEPS):
        x = w[t % 2] @ (x - LR * gradients(x))
        yield x


def sgp(topology):
    x, mass, p = start(), np.ones((RANKS, 1)), matrices(topology)
    for t in range(STEPS):
        x = p[t % len(p)] @ (x - LR * gradients(x / mass))
        mass = p[t % len(p)] @ mass
        yield x / mass
    yield mean(x)  # the sum of x, not of x / mass, is kept


def sgp_unwaiting(topology):
    """Each rank in turn: its update, and the parts of x and mass that it gives to the others."""
    x, mass, p = start(), np.ones(RANKS), matrices(topology)
    seen = start()
    for t in range(STEPS):
        w = p[t % len(p)]
        for i in range(RANKS):
            x[i] = x[i] - LR * gradient(i, seen[i])
            seen[i] = x[i] / mass[i]
            if mass[i] < 0.25:
                continue  # keeps all, or its weight would vanish
            sent, sent_mass = np.outer(w[:, i], x[i]), w[:, i] * mass[i]
            x[i], mass[i] = 0, 0
            x, mass = x + sent, mass + sent_mass
        yield seen.copy()
    yield mean(x)  # the masses sum to the number of ranks


def choco(gamma, topology="ring"):
    """Each round of the period has replicas of its own."""
    x, w = start(), matrices(topology)
    replicas = [start() for _ in w]
    for t in range(STEPS):
        x = x - LR * gradients(x)
        replica = replicas[t % len(w)]
        replica += half(x - replica)
        x = x + gamma * (w[t % len(w)] @ replica - replica)
        yield x


def dcd():
    x, w = start(), matrices("ring")[0]
    for _ in range(STEPS):
        x = x + half(w @ x - LR * gradients(x) - x)
        yield x


def deepsqueeze(gamma):
    x, w = start(), matrices("ring")[0]
    error = np.zeros_like(x)
    for _ in range(STEPS):
        x = x - LR * gradients(x)
        v = x + error
        q = half(v)
        error = v - q
        x = x + gamma * (w @ q - q)
        yield x


def largest(values, kept):
    """Top-k of each row."""
    return np.where(np.abs(values) >= np.sort(np.abs(values), axis=1)[:, [-kept]], values, 0)


def ef21(compress):
    x, sent = start(), np.zeros((RANKS, ELEMENTS))
    for _ in range(STEPS):
        sent = sent + compress(gradients(x) - sent)
        x = x - LR * mean(sent)
        yield x


def easgd(h, alpha, beta):
    x, centre = start(), START.copy()
    for t in range(STEPS):
        x = x - LR * gradients(x)
        if (t + 1) % h == 0:
            x, centre = x - alpha * (x - centre), (1 - beta) * centre + beta * x.mean(axis=0)
        yield x
    yield np.tile(centre, (RANKS, 1))


def fed(h, lr, adam=None):
    """All ranks take part."""
    x, server = start(), START.copy()
    m, v = np.zeros(ELEMENTS), np.zeros(ELEMENTS)
    for t in range(STEPS):
        x = x - LR * gradients(x)
        if (t + 1) % h == 0:
            delta = x.mean(axis=0) - server
            if adam:
                m = adam[0] * m + (1 - adam[0]) * delta
                v = adam[1] * v + (1 - adam[1]) * delta**2
                delta = m / (np.sqrt(v) + adam[2])
            server = server + lr * delta
            x = np.tile(server, (RANKS, 1))
        yield x


def vote(beta1, beta2):
    x, m = start(), np.zeros((RANKS, ELEMENTS))
    for _ in range(STEPS):
        g = gradients(x)
        ballots = np.sign(beta1 * m + (1 - beta1) * g)
        m = beta2 * m + (1 - beta2) * g
        x = x - LR * np.sign(ballots.sum(axis=0))
        yield x


def adam_frozen(beta1, beta2, eps, warmup, corrects):
    x, m, v = start(), np.zeros((RANKS, ELEMENTS)), np.zeros(ELEMENTS)
    for t in range(1, STEPS + 1):
        g = gradients(x)
        if t <= warmup:
            g = mean(g)
            v = beta2 * v + (1 - beta2) * g[0] ** 2
        m = beta1 * m + (1 - beta1) * g
        if t > warmup:
            m = mean(m)
        first, second = (1 - beta1**t, 1 - beta2**t) if corrects else (1, 1)
        x = x - LR * (m / first) / (np.sqrt(v / second) + eps)
        yield x


def dadam(beta1, beta2, eps):
    x, w = start(), matrices("ring")[0]
    m, v = np.zeros((RANKS, ELEMENTS)), np.zeros((RANKS, ELEMENTS))
    for t in range(1, STEPS + 1):
        g = gradients(x)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
        x = w @ x - LR * (m / (1 - beta1**t)) / (np.sqrt(v / (1 - beta2**t)) + eps)
        yield x


def splitmix(state):
    mask = 2**64 - 1
    state = state & mask
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & mask
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & mask
    return state ^ (state >> 31)


def shuffled(seed, round_number):
    """The random order that all ranks draw alike."""
    order, state = list(range(RANKS)), seed * 0x9E3779B97F4A7C15 + round_number
    for i in range(RANKS, 1, -1):
        state += 0x9E3779B97F4A7C15
        j = splitmix(state) % i
        order[i - 1], order[j] = order[j], order[i - 1]
    return order


def noloco(h, alpha, beta, gamma, seed):
    theta, phi, delta = start(), start(), np.zeros((RANKS, ELEMENTS))
    for t in range(1, STEPS + 1):
        theta = theta - LR * gradients(theta)
        if t % h == 0:
            order = shuffled(seed, t // h)
            pairs = np.zeros((RANKS, RANKS))
            for a, b in zip(order[::2], order[1::2]):
                pairs[np.ix_([a, b], [a, b])] = 0.5
            delta = alpha * delta + beta * (pairs @ (theta - phi)) - gamma * (phi - pairs @ phi)
            phi = phi + delta
            theta = phi
        yield theta


def fedavg_of_half(h, seed, samples=(1, 1, 1, 1), mu=0.0):
    """Two ranks take part; those of more samples count more. mu: FedProx."""
    x, server = start(), START.copy()
    for t in range(1, STEPS + 1):
        x = x - LR * (gradients(x) + mu * (x - server))
        if t % h == 0:
            takers = shuffled(seed, t // h)[:2]
            server = np.average(x[takers], axis=0, weights=np.array(samples, float)[takers])
            x = np.tile(server, (RANKS, 1))
        yield x


def sparseloco(h, lr, kept, decay):
    """Without the 2 bits."""
    x, server, lost = start(), START.copy(), np.zeros((RANKS, ELEMENTS))
    for t in range(1, STEPS + 1):
        x = x - LR * gradients(x)
        if t % h == 0:
            lost = decay * lost + (server - x)
            sent = largest(lost, kept)
            lost = lost - sent
            server = server - lr * sent.mean(axis=0)
            x = np.tile(server, (RANKS, 1))
        yield x


def sparta(part, seed):
    x = start()
    for t in range(1, STEPS + 1):
        x = x - LR * gradients(x)
        for i in range(ELEMENTS):
            if splitmix((seed * 0x94D049BB133111EB + t) * 0xD1342543DE82EF95 + i * 0x9E3779B97F4A7C15) < part * 2.0**64:
                x[:, i] = x[:, i].mean()
        yield x


def heloco(h, lr, momentum, keep, shrink, most, turn, kappa):
    """Each rank in turn moves the server by its difference, corrected tensor by tensor."""
    x, theta, m, begun = start(), START.copy(), np.zeros(ELEMENTS), start()
    for t in range(1, STEPS + 1):
        for i in range(RANKS):
            x[i] = x[i] - LR * gradient(i, x[i])
            if t % h == 0:
                delta = begun[i] - x[i]
                for block in (slice(0, 5), slice(5, 6), slice(6, ELEMENTS)):
                    d, v = delta[block], m[block]
                    if not v.any():
                        continue
                    size, u, v = np.linalg.norm(d), d / np.linalg.norm(d), v / np.linalg.norm(v)
                    c, conf = u @ v, size / (size + kappa * np.linalg.norm(m[block]) + 1e-12)
                    if c < 0:
                        delta[block] = d - min(shrink * -c * conf, most) * c * size * v
                    elif c < keep:
                        part = min(turn * (1 - c) * conf, 1)
                        turned = (1 - part) * u + part * v
                        delta[block] = size * turned / max(np.linalg.norm(turned), 1e-12)
                m = momentum * m + (1 - momentum) * delta
                theta = theta - lr * (delta + momentum * m)
                x[i] = begun[i] = theta
        yield x.copy()
    yield np.tile(theta, (RANKS, 1))


def one_byte(samples, eps, seed):
    x = start()
    for t in range(1, STEPS + 1):
        total = np.zeros(ELEMENTS)
        for number in range(RANKS * samples):
            word = splitmix(seed * 0x94D049BB133111EB + t * RANKS * samples + number + 0x9E3779B97F4A7C15)
            z = np.array([1.0 if word >> i & 1 else -1.0 for i in range(ELEMENTS)])
            rank = number // samples
            rho = (loss(rank, x[rank] + eps * z) - loss(rank, x[rank] - eps * z)) / (2 * eps)
            level = min(max(round(8 * np.log(abs(rho))), -63), 63)
            total += np.sign(rho) * np.exp(level / 8) * z
        x = x - LR * total / np.sqrt(RANKS * samples)
        yield x


RING, STAR = [[1, 3], [0, 2], [1, 3], [0, 2]], [[1, 2, 3], [0], [0], [0]]
CASES = {
    "adpsgd:seed=3,wait=1": (pairwise(RING, 3), EXACT),
    "adpsgd:topology=star,h=2,wait=1": (pairwise(STAR, 1, 2), EXACT),
    "acid:wait=1": (pairwise(RING, 1, momentum=True), EXACT),
    "acid:topology=star,h=2,seed=5,wait=1": (pairwise(STAR, 5, 2, True), EXACT),
    "dpsgd": (dpsgd(), EXACT),
    "dpsgd:topology=one-peer-exponential": (dpsgd("one-peer-exponential"), EXACT),
    "gossipgrad:seed=4": (gossipgrad(4), EXACT),
    "async-average:h=4": (async_average(4, 4), EXACT),
    "async-average:h=5,tau=2": (async_average(5, 2), EXACT),
    "osgp": (osgp("one-peer-exponential", 1), EXACT),
    "osgp:topology=star:weights=push-sum,tau=3": (osgp("star:weights=push-sum", 3), EXACT),
    "papa:h=3,alpha=0.75,lr0=0.25": (papa(3, 0.75, 0.25), EXACT),
    "gossip-pga:topology=ring,h=6": (mixed_behind("ring", 6), EXACT),
    "moshpit:dims=2x2,h=5": (moshpit(5), EXACT),
    "moshpit:dims=2x2,rounds=1": (moshpit_by_rounds(), EXACT),
    "sgp:topology=star:weights=push-sum": (sgp("star:weights=push-sum"), EXACT),
    "sgp": (sgp("one-peer-exponential"), EXACT),
    "sgp:topology=star:weights=push-sum,wait=0": (sgp_unwaiting("star:weights=push-sum"), EXACT),
    "sgp:wait=0": (sgp_unwaiting("one-peer-exponential"), EXACT),
    "choco:gamma=0.5,codec=fp16": (choco(0.5), HALF),
    "choco:topology=one-peer-exponential,gamma=0.75,codec=fp16": (choco(0.75, "one-peer-exponential"), HALF),
    "dcd:codec=fp16": (dcd(), HALF),
    "deepsqueeze:gamma=0.5,codec=fp16": (deepsqueeze(0.5), HALF),
    "noloco:h=4,alpha=0.5,beta=0.7,gamma=1,seed=3": (noloco(4, 0.5, 0.7, 1, 3), EXACT),
    "ef21:codec=topk:ratio=0.25": (ef21(lambda values: largest(values, 4)), EXACT),
    "ef21:codec=fp16": (ef21(half), HALF),
    "ef21:codec=none": (ef21(lambda values: values), EXACT),
    "easgd:h=5,alpha=0.25,beta=0.5": (easgd(5, 0.25, 0.5), EXACT),
    "fedavg:h=4,lr=0.5": (fed(4, 0.5), EXACT),
    "fedavg:h=4,part=0.5,seed=5": (fedavg_of_half(4, 5), EXACT),
    "fedavg:h=4,part=0.5,seed=5,samples=1;2;3.5;6": (fedavg_of_half(4, 5, (1, 2, 3.5, 6)), EXACT),
    "fedprox:h=4,part=0.5,seed=5,mu=0.5": (fedavg_of_half(4, 5, mu=0.5), EXACT),
    "fedopt:h=4,lr=0.0625,beta1=0.5,beta2=0.75,eps=0.125": (fed(4, 0.0625, (0.5, 0.75, 0.125)), EXACT),
    "lion:beta1=0.9,beta2=0.99": (vote(0.9, 0.99), EXACT),
    "signum:beta=0.5": (vote(0.5, 0.5), EXACT),
    "1-bit-adam:beta2=0.9,eps=0.125,warmup=8,codec=none": (adam_frozen(0.9, 0.9, 0.125, 8, False), 10 * EXACT),
    "qadam:beta2=0.9,eps=0.125,warmup=8,codec=none": (adam_frozen(0.9, 0.9, 0.125, 8, True), 10 * EXACT),
    "0-1-adam:beta2=0.9,eps=0.125,freeze=9,kappa=2,double_every=4,longest=4,codec=none":
        (zero_one_adam(0.9, 0.9, 0.125, 9, 2, 4, 4), 10 * EXACT),
    "dadam:beta2=0.9,eps=0.125": (dadam(0.9, 0.9, 0.125), 10 * EXACT),
    "diloco:h=4,lr=0.5,momentum=0,codec=topk:ratio=0.25+ef:decay=0.5,at=worker": (sparseloco(4, 0.5, 4, 0.5), EXACT),
    "heloco:h=3,lr=0.5,momentum=0.75,keep=0.9,shrink=2,most=0.5,turn=0.5,kappa=0.5":
        (heloco(3, 0.5, 0.75, 0.9, 2, 0.5, 0.5, 0.5), EXACT),
    "one-byte:samples=2,seed=3": (one_byte(2, 0.001, 3), EXACT),  # the slope of a quadratic along z is that of any eps
    "sparta:part=0.4,seed=2": (sparta(0.4, 2), EXACT),
}


class PublishedRules(unittest.TestCase):
    def test_every_method_follows_its_rule(self):
        for spec, (rule, bound) in CASES.items():
            with self.subTest(spec=spec):
                computed, finished = library(spec)
                states = list(rule)
                np.testing.assert_allclose(computed, states[:STEPS], rtol=0, atol=bound)
                last = states[STEPS] if len(states) > STEPS else mean(states[-1])
                np.testing.assert_allclose(finished, last, rtol=0, atol=bound)

    def test_one_byte_needs_no_gradients(self):
        """Signs do not depend on the codes' edges; 0.25 keeps the float32 rounding of x +- eps z far below a code's step."""
        computed, _ = library("one-byte:samples=2,eps=0.25,seed=3", losses=True)
        np.testing.assert_allclose(computed, list(one_byte(2, 0.25, 3)), rtol=0, atol=EXACT)

    def test_a_loss_that_is_not_finite_fails_the_step_on_all_ranks(self):
        def nothing(rank, x):
            return float("nan") if rank == 2 else 0.0

        global loss  # pylint: disable=global-statement
        kept, loss = loss, nothing
        try:
            with self.assertRaisesRegex(gossamer.Error, "rank 2's loss is not finite"):
                library("one-byte", losses=True)
        finally:
            loss = kept

    def test_a_rank_without_a_gradient_abstains_from_the_vote(self):
        global RANKS, CURVATURE  # pylint: disable=global-statement
        kept = RANKS, CURVATURE
        CURVATURE = CURVATURE.copy()
        CURVATURE[:, 0] = CURVATURE[1:, 1] = CURVATURE[0, 2] = CURVATURE[:2, 5] = 0
        try:
            for RANKS, betas in itertools.product((1, 3, 4), ((0.9, 0.99), (0.5, 0.5))):
                with self.subTest(betas=betas, ranks=RANKS):
                    computed, _ = library("lion:beta1={},beta2={}".format(*betas))
                    np.testing.assert_allclose(computed, list(vote(*betas)), rtol=0, atol=EXACT)
                    np.testing.assert_array_equal(computed[-1, :, 0], START[0])
        finally:
            RANKS, CURVATURE = kept

    def test_choco_keeps_the_mean_where_others_drift(self):
        """Behind step 5 there are no gradients: then 4 bits must not move the mean of the ranks."""
        def drift(spec):
            computed, _ = library(spec, active=5)
            return np.abs(computed[-1].mean(axis=0) - computed[4].mean(axis=0)).max()

        self.assertLess(drift("choco:gamma=0.25,codec=int4:block=32"), EXACT)
        self.assertGreater(drift("dcd:codec=int4:block=32"), 10 * EXACT)
        self.assertGreater(drift("dpsgd:codec=int4:block=32"), 1e-3)  # Bagua's D_LP_S as it was published

    def test_what_a_topology_lacks_is_refused_by_row_and_column(self):
        with gossamer.init(0, 1, gossamer.UniqueId()) as comm:
            x = np.zeros(3, "float32")
            for spec, reason in {"choco:topology=moon": "there is no topology 'moon'",
                                 "dpsgd:topology=matrix:/nowhere": "/nowhere"}.items():
                with self.assertRaisesRegex(gossamer.InvalidArgument, reason):
                    gossamer.Synchronizer([("x", x, x)], spec, comm=comm)


if __name__ == "__main__":
    unittest.main()
