// The released js-libp2p gossipsub as a router under test: JSON lines, as docs/adapters.md says.
//
//   node driver.mjs FOLDER
//
// FOLDER has the release in its node_modules, and load.mjs, which imports from there. The router's own decoder,
// signatures and timers run on a node without a network, in virtual time, and repeat from the seed.
import { createInterface } from 'node:readline'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { current } from './current.mjs'
import { older } from './older.mjs'
import { oldest } from './oldest.mjs'
import { CAPABILITIES, started, told } from './release.mjs'
import { Keys, Time } from './world.mjs'

const CRASH_CHARACTERS = 200
const FIRST_CURRENT = 15

const { load, version } = await import(pathToFileURL(resolve(process.argv[2], 'load.mjs')))
const time = new Time(await load('@sinonjs/fake-timers'))
const era = await eraOf(Number.parseInt(version))(load, version)
const keys = new Keys(time, era)

function eraOf (major) {
  return major >= FIRST_CURRENT ? current : major > 0 ? older : oldest
}

/** `TYPE in PLACE: WORDS`, without bytes that a peer may have sent. */
function crashText (error) {
  const frame = /at (?:async )?(?:new )?([^\s(]+).*gossipsub(?:\/dist)?\/src\/(.+)\.js/.exec(error?.stack ?? '')
  const place = frame == null ? '' : ` in ${frame[2].replaceAll('/', '.')}.${frame[1]}`
  const words = String(error?.message ?? error).split('\n')[0]
    .replace(/[A-Za-z0-9+/=_-]{16,}|\d+(,\s*\d+){3,}/g, '...')
  return `${error?.name ?? 'Error'}${place}: ${words}`.slice(0, CRASH_CHARACTERS)
}

function bytesOf (text) {
  return new Uint8Array(Buffer.from(text, 'base64'))
}

/** The length prefix of a frame. */
function lengthOf (rpc) {
  const prefix = []
  let length = rpc.length
  for (; length > 127; length = Math.floor(length / 128)) {
    prefix.push(length % 128 + 128)
  }
  return Uint8Array.of(...prefix, length)
}

function refused (why) {
  return Object.assign(new Error(why), { isRefusal: true })
}

/** One router, and what its peers and its application do to it. */
class Run {
  crashed = ''
  /** Peers that the router hung up on, until they are disconnected or connected anew. */
  gone = new Set()
  scores = new Map()
  /** Messages that wait for the application: id -> who sent the first copy, and its delivery. */
  waiting = new Map()

  static async of (init) {
    const run = new Run()
    run.init = init
    run.node = new era.Node(keys, await keys.of(init.identity ?? 0), era.isRecordOf)
    const scoreOf = (id) => run.scores.get(id) ?? 0
    Object.assign(run, await started(era, run.node, init, scoreOf))
    era.heard(run.router, detail => { run.received(detail) })
    return run
  }

  received ({ msg, msgId, propagationSource }) {
    const delivery = [msg.topic, Buffer.from(msg.data).toString('base64')]
    if (this.init.parameters.validation === 'manual') {
      this.waiting.set(msgId, { source: keys.textOf(propagationSource), delivery })
    } else {
      this.node.delivered.push(delivery)
    }
  }

  fail (error) {
    this.crashed ||= crashText(error)
  }

  /** The connection of a peer; undefined where the router has hung up on it. */
  connection (op, peer) {
    const connection = this.node.connections.get(peer)
    if (connection == null && !this.gone.has(peer) && this.crashed === '') {
      throw refused(`${op}: no peer ${peer}; connect it first`)
    }
    return connection
  }

  async connect ({ peer, protocol, outbound, address }) {
    const offered = era.offered(this.router)
    if (!offered.includes(protocol)) {
      throw refused(`connect peer ${peer}: no protocol in common: it offers ${offered.join(', ')}`)
    }
    if (this.node.connections.has(peer) || peer === (this.init.identity ?? 0)) {
      throw refused(`connect peer ${peer}: it is connected, or the router itself`)
    }
    this.gone.delete(peer)
    // Peers of one address share an IP; without one, each has its own.
    const ip = address == null ? [10, peer >> 16 & 255, peer >> 8 & 255, peer & 255] : [172, 16, address >> 8, address & 255]
    const { id } = await keys.of(peer)
    const connection = new this.node.Connection(this.node, {
      peer, id, protocol, outbound, address: era.addressOf(`/ip4/${ip.join('.')}/tcp/4001`)
    })
    this.node.connections.set(peer, connection)
    for (const { onConnect } of this.node.topologies) {
      onConnect?.(id, connection)
    }
    const handler = this.node.handlers.get(protocol)
    if (handler != null) {
      connection.receivedBy(handler)
    }
  }

  disconnect ({ op, peer }) {
    this.connection(op, peer)?.end()
    this.node.connections.delete(peer)
    this.gone.delete(peer)
  }

  stall ({ op, peer }) {
    this.connection(op, peer)?.stall()
  }

  resume ({ op, peer }) {
    this.connection(op, peer)?.resume()
  }

  rpc ({ op, peer, channel, data }) {
    if (channel !== 0) {
      throw refused(`rpc: channel ${channel}: a pubsub router has channel 0 alone`)
    }
    const rpc = Buffer.from(data, 'base64')
    this.connection(op, peer)?.inbound.feed(new Uint8Array(Buffer.concat([lengthOf(rpc), rpc])))
  }

  raw ({ op, peer, data }) {
    this.connection(op, peer)?.inbound.feed(bytesOf(data))
  }

  join ({ topic }) {
    era.subscribe(this.router, topic)
  }

  leave ({ topic }) {
    this.router.unsubscribe(topic)
  }

  async publish ({ topic, data }) {
    await this.router.publish(topic, bytesOf(data))
  }

  /** Without effect on a message that waits for none. */
  verdict ({ message, judgement }) {
    const id = era.idText(this.router, bytesOf(message))
    const found = this.waiting.get(id)
    if (this.waiting.delete(id)) {
      if (judgement === 'accept') {
        this.node.delivered.push(found.delivery)
      }
      this.router.reportMessageValidationResult(id, found.source, judgement)
    }
  }

  async score ({ peer, value }) {
    const { id } = await keys.of(peer)
    this.scores.set(keys.textOf(id), value)
  }

  async advance ({ ms }) {
    await time.advance(ms)
  }

  state () {
    const { router } = this
    const numbers = (ids) => [...ids].map(id => keys.numberOf(id)).sort((a, b) => a - b)
    const byTopic = (map, shown) => Object.fromEntries([...map].sort().map(([topic, ids]) => [topic, shown(ids)]))
    const backoff = (until) => Object.fromEntries(
      [...until].map(([id, ms]) => [keys.numberOf(id), (ms - Date.now()) / 1000])
    )
    return {
      topics: [...router.subscriptions].sort(),
      peers: [...this.node.connections.keys()].sort((a, b) => a - b),
      mesh: byTopic(router.mesh, numbers),
      fanout: byTopic(router.fanout, numbers),
      backoff_s: byTopic(router.backoff, backoff),
      scores: Object.fromEntries([...this.node.connections].map(([peer, { remotePeer }]) => [peer, era.scoreOf(router, keys.textOf(remotePeer))])),
      waiting: [...this.waiting.keys()].sort(),
      additions_off: this.off
    }
  }

  /** What the router did since the last reply. */
  reply () {
    const { node } = this
    for (const peer of node.closed) {
      this.node.connections.delete(peer)
      this.gone.add(peer)
    }
    const reply = { t: time.nowMs }
    for (const name of ['out', 'delivered', 'dials', 'closed']) {
      if (node[name].length > 0) {
        reply[name] = node[name].splice(0)
      }
    }
    if (this.crashed !== '') {
      reply.crashed = this.crashed
    }
    return reply
  }
}

const REQUESTS = new Set([
  'connect', 'disconnect', 'stall', 'resume', 'rpc', 'raw', 'join', 'leave', 'publish', 'verdict', 'score',
  'advance', 'state'
])
let run

async function begin (init) {
  if (init.format !== 1) {
    throw refused(`init: format ${init.format}, this side speaks 1`)
  }
  await run?.router.stop().catch(() => {})
  await time.settle()
  run = undefined
  time.restart(init.seed)
  run = await Run.of(init)
  await time.settle()
  const hello = { name: 'js-libp2p', version, protocols: era.protocols, capabilities: [...CAPABILITIES, ...era.capabilities], ...told(run.router, era, init, run.off), format: 1 }
  return { hello, again: true }
}

async function answer (request) {
  if (request.op === 'init') {
    return await begin(request)
  }
  if (!REQUESTS.has(request.op)) {
    throw refused(`'${request.op}' is a request that it cannot do`)
  }
  if (run == null) {
    throw refused(`${request.op} before init: say init first`)
  }
  let state
  try {
    state = await run[request.op](request)
    await time.settle()
  } catch (error) {
    if (error.isRefusal) {
      throw error
    }
    run.fail(error)
  }
  const reply = run.reply()
  return request.op === 'state' ? { ...reply, state } : reply
}

process.on('unhandledRejection', error => run?.fail(error))
process.on('uncaughtException', error => run?.fail(error))

for await (const line of createInterface({ input: process.stdin })) {
  let said
  try {
    said = await answer(JSON.parse(line))
  } catch (error) {
    said = { error: String(error?.message ?? error) }
  }
  process.stdout.write(JSON.stringify(said) + '\n')
}
