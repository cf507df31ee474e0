// What the router takes for the world: time, chance, keys, a connection and a node without a network. Time and chance
// are replaced in this process before any module of the router is loaded. Streams are those of an era of releases.
import { createHash } from 'node:crypto'
import { createRequire, syncBuiltinESMExports } from 'node:module'

const EPOCH_MS = 1_700_000_000_000
const NUMBERED_PEERS = 256
const FIRST_SEQNO = BigInt(EPOCH_MS) * 1_000_000n
const SEQNOS = 1n << 48n

const realSetImmediate = setImmediate
const realGetRandomValues = globalThis.crypto.getRandomValues.bind(globalThis.crypto)

function generator (seed) {
  // Mulberry32.
  let state = seed | 0
  return () => {
    state = state + 0x6D2B79F5 | 0
    let word = Math.imul(state ^ state >>> 15, 1 | state)
    word = word + Math.imul(word ^ word >>> 7, 61 | word) ^ word
    return ((word ^ word >>> 14) >>> 0) / 2 ** 32
  }
}

/** Releases before 10 draw from the crypto module of Node.js, without or with a callback. */
function drawFromSeed () {
  const crypto = createRequire(import.meta.url)('node:crypto')
  crypto.randomBytes = (size, answer) => {
    const drawn = Buffer.from(globalThis.crypto.getRandomValues(new Uint8Array(size)))
    return answer == null ? drawn : answer(null, drawn)
  }
  syncBuiltinESMExports()
}

/** A virtual clock and a seeded source of chance, in place of those of this process. */
export class Time {
  isAdvancing = false
  #clock
  #drawn = 0n
  #drawnBefore = 0n
  #pending = 0

  constructor ({ install }) {
    const toFake = ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date']
    this.#clock = install({ now: EPOCH_MS, toFake })
    this.#countSeqnos()
    this.#countSubtle()
    drawFromSeed()
  }

  /** Forget every timer; it is the start again. */
  restart (seed) {
    this.#clock.reset()
    this.#drawnBefore = this.#drawn
    const next = generator(seed)
    Math.random = next
    globalThis.crypto.getRandomValues = (array) => {
      const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
      bytes.forEach((_, at) => { bytes[at] = next() * 256 })
      return array
    }
  }

  /** Do something that must leave the router's chance as it is. */
  async apart (act) {
    const seeded = globalThis.crypto.getRandomValues
    globalThis.crypto.getRandomValues = realGetRandomValues
    try {
      return await act()
    } finally {
      globalThis.crypto.getRandomValues = seeded
    }
  }

  get nowMs () {
    return this.#clock.now - EPOCH_MS
  }

  /** Resolves when the router waits for time or for a peer, and for nothing else. */
  async settle () {
    do {
      await new Promise(resolve => realSetImmediate(resolve))
    } while (this.#pending > 0)
  }

  /** Each timer fires at its own instant, after what the one before it started has come to rest. */
  async advance (ms) {
    this.isAdvancing = true
    let there = false
    this.#clock.setTimeout(() => { there = true }, ms)
    while (!there) {
      this.#clock.next()
      await this.settle()
    }
    // Timers of this very instant that were set on the way.
    this.#clock.tick(0)
    await this.settle()
    this.isAdvancing = false
  }

  // From 17 on the router counts sequence numbers from the time at which its module was loaded, for as long as
  // the process lives. A run must not depend on how many messages the runs before it published.
  #countSeqnos () {
    const time = this
    const set = DataView.prototype.setBigUint64
    DataView.prototype.setBigUint64 = function (at, value, littleEndian) {
      if (value > FIRST_SEQNO && value < FIRST_SEQNO + SEQNOS) {
        time.#drawn += 1n
        value -= time.#drawnBefore
      }
      set.call(this, at, value, littleEndian)
    }
  }

  // ECDSA is verified in another thread; all other work is done when the queues of this one are empty.
  #countSubtle () {
    const time = this
    const subtle = Object.getPrototypeOf(globalThis.crypto.subtle)
    for (const name of ['digest', 'importKey', 'exportKey', 'sign', 'verify']) {
      const real = subtle[name]
      subtle[name] = async function (...given) {
        time.#pending += 1
        try {
          return await real.apply(this, given)
        } finally {
          time.#pending -= 1
        }
      }
    }
  }
}

/** The keys of the small integers that stand for peers. */
export class Keys {
  #made = new Map()
  #numbers = new Map()

  /** An era has `identityOf`: what the release takes for a peer, from the seed of its key; its `id`, and more. */
  constructor (time, era) {
    this.time = time
    this.era = era
  }

  async of (peer) {
    let made = this.#made.get(peer)
    if (made == null) {
      const seed = new Uint8Array(32)
      new DataView(seed.buffer).setUint32(0, peer, true)
      made = await this.time.apart(async () => await this.era.identityOf(seed))
      this.#made.set(peer, made)
      this.#numbers.set(this.textOf(made.id), peer)
    }
    return made
  }

  /** The integer of a peer that has been met before; undefined for a stranger. */
  numberOf (id) {
    return this.#numbers.get(this.textOf(id))
  }

  /** An id as the router writes it, where it is not written yet. */
  textOf (id) {
    return typeof id === 'string' ? id : this.era.textOf(id)
  }

  /** The integer of any peer of a small number. */
  async look (id) {
    for (let peer = 0; this.numberOf(id) == null && peer < NUMBERED_PEERS; peer++) {
      await this.of(peer)
    }
    return this.numberOf(id)
  }
}

/** The first RPC of `bytes`, without its length; undefined while it is not there in whole. */
export function unframed (bytes) {
  let length = 0
  let at = 0
  for (let shift = 0; ; shift += 7) {
    if (at === bytes.length) {
      return undefined
    }
    const byte = bytes[at++]
    length += (byte & 127) * 2 ** shift
    if (byte < 128) {
      break
    }
  }
  return bytes.length < at + length ? undefined : bytes.subarray(at, at + length)
}

/** The connection to one peer, which speaks one protocol. An era has `opened` and `receivedBy`. */
export class Connection {
  status = 'open'
  isStalled = false
  #unread = []

  constructor (node, { peer, id, address, protocol, outbound }) {
    this.node = node
    this.peer = peer
    this.protocol = protocol
    this.remotePeer = id
    this.remoteAddr = address
    this.direction = outbound ? 'outbound' : 'inbound'
    this.streams = []
    this.inbound = this.#kept(protocol)
  }

  /** The router opens its own stream. */
  async newStream (protocols) {
    if (!protocols.includes(this.protocol)) {
      throw new Error('protocol selection failed')
    }
    return this.#kept(this.protocol)
  }

  wrote (rpc) {
    if (this.isStalled) {
      this.#unread.push(rpc)
    } else {
      this.node.out.push([this.peer, 0, rpc])
    }
  }

  stall () {
    this.isStalled = true
  }

  resume () {
    this.isStalled = false
    for (const rpc of this.#unread.splice(0)) {
      this.wrote(rpc)
    }
  }

  /** The router closed a stream: to its peer that is the end of the connection. */
  hungUp () {
    if (this.status === 'open') {
      this.node.closed.push(this.peer)
      this.end()
    }
  }

  end () {
    this.status = 'closed'
    for (const stream of this.streams) {
      stream.end()
    }
    for (const { onDisconnect } of this.node.topologies) {
      onDisconnect?.(this.remotePeer)
    }
  }

  #kept (protocol) {
    const stream = this.opened(protocol)
    this.streams.push(stream)
    return stream
  }
}

/** A node without a network: what the router did. An era has `components`, in which the router finds it. */
export class Node {
  out = []
  delivered = []
  dials = []
  closed = []
  /** By the number of the peer. */
  connections = new Map()
  handlers = new Map()
  /** The router registers the same topology for each of its protocols. */
  topologies = new Set()

  constructor (keys, own, isRecordOf) {
    this.keys = keys
    this.own = own
    this.isRecordOf = isRecordOf
  }

  /** The router wants a connection: that which there is; a dial fails. */
  async wanted (id) {
    const peer = await this.keys.look(id)
    if (this.connections.get(peer)?.status === 'open') {
      return this.connections.get(peer)
    }
    if (peer != null) {
      this.dials.push(peer)
    }
    throw new Error('the dial failed')
  }
}

/** Instead of after 100 ms, a constant of the release. */
export function restartHeartbeats (router, delayMs) {
  clearTimeout(router.status.heartbeatTimeout)
  router.status.heartbeatTimeout = setTimeout(router.runHeartbeat, delayMs)
  router.status.hearbeatStartMs = Date.now() + delayMs
}

/** The sequence number of a message, in which eras agree from 1.0 on. */
export function seqnoOf (message) {
  const seqno = Buffer.alloc(8)
  seqno.writeBigUInt64BE(message.sequenceNumber)
  return seqno
}

export function contentId (data) {
  return new Uint8Array(createHash('sha256').update(data).digest())
}
