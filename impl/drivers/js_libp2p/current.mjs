// The world of releases 15 and later, `@libp2p/gossipsub`: streams are targets of events.
import { Connection, Node, restartHeartbeats, seqnoOf, unframed } from './world.mjs'

export const PACKAGE = '@libp2p/gossipsub'

/** One stream of a peer: the router reads it by its events, or writes on it by `send`. */
class CurrentStream extends EventTarget {
  status = 'open'
  writeStatus = 'writable'
  readStatus = 'readable'

  constructor (connection, protocol) {
    super()
    this.connection = connection
    this.protocol = protocol
  }

  send (data) {
    if (this.status !== 'open') {
      throw new Error(`Cannot write to a stream that is ${this.status}`)
    }
    const bytes = data instanceof Uint8Array ? data : data.subarray()
    const rpc = unframed(bytes)
    if (rpc == null || rpc.byteOffset + rpc.length !== bytes.byteOffset + bytes.length) {
      throw new Error(`the router wrote ${bytes.length} bytes that are not one frame`)
    }
    this.connection.wrote(Buffer.from(rpc).toString('base64'))
    return !this.connection.isStalled
  }

  feed (bytes) {
    if (this.status === 'open') {
      this.dispatchEvent(Object.assign(new Event('message'), { data: bytes }))
    }
  }

  /** The connection is lost. */
  end () {
    if (this.status === 'open') {
      this.status = this.writeStatus = this.readStatus = 'closed'
      this.dispatchEvent(new Event('close'))
    }
  }

  async close () {
    this.#hungUp()
  }

  abort () {
    this.#hungUp()
  }

  #hungUp () {
    if (this.status === 'open') {
      this.end()
      this.connection.hungUp()
    }
  }
}

class CurrentConnection extends Connection {
  opened (protocol) {
    return new CurrentStream(this, protocol)
  }

  receivedBy (handler) {
    handler(this.inbound, this)
  }
}

function silent () {}
export const log = Object.assign(silent, { error: silent, trace: silent, enabled: false, newScope: () => log })

class CurrentNode extends Node {
  Connection = CurrentConnection

  get components () {
    const { handlers, topologies } = this
    return {
      privateKey: this.own.privateKey,
      peerId: this.own.id,
      logger: { forComponent: () => log },
      peerStore: {
        merge: async () => {},
        get: async () => { throw Object.assign(new Error('Not found'), { name: 'NotFoundError' }) },
        consumePeerRecord: async (record, { expectedPeer }) => await this.isRecordOf(record, expectedPeer)
      },
      registrar: {
        handle: async (protocol, handler) => { handlers.set(protocol, handler) },
        unhandle: async (protocol) => { handlers.delete(protocol) },
        register: async (_, topology) => { topologies.add(topology) },
        unregister: silent,
        getTopologies: () => [...topologies]
      },
      connectionManager: {
        getConnections: () => [],
        openConnection: async (id) => await this.wanted(id)
      }
    }
  }
}

/** Who peers are, since 14: their ids are made of keys, and hold them. */
export async function identitiesOfKeys (load) {
  const { generateKeyPairFromSeed } = await load('@libp2p/crypto/keys')
  const { peerIdFromPrivateKey } = await load('@libp2p/peer-id')
  const { RecordEnvelope, PeerRecord } = await load('@libp2p/peer-record')
  return {
    async identityOf (seed) {
      const privateKey = await generateKeyPairFromSeed('Ed25519', seed)
      return { privateKey, id: peerIdFromPrivateKey(privateKey) }
    },
    /** What the peer store of libp2p asks of a signed record: that the peer itself signed it. Throws for junk. */
    async isRecordOf (record, peer) {
      const envelope = await RecordEnvelope.openAndCertify(record, PeerRecord.DOMAIN)
      const signer = envelope.publicKey.toMultihash().bytes
      return peer.equals(signer) && PeerRecord.createFromProtobuf(envelope.payload).peerId.equals(signer)
    },
    authorOf: (message) => message.from.toMultihash().bytes
  }
}

/** Its packages, as the driver asks for them. */
export async function current (load) {
  const { gossipsub } = await load(PACKAGE)
  const identities = await identitiesOfKeys(load)
  const { multiaddr } = await load('@multiformats/multiaddr')
  return {
    Node: CurrentNode,
    protocols: ['gossipsub-1.0', 'gossipsub-1.1', 'gossipsub-1.2'],
    capabilities: ['explicit', 'peer-exchange', 'verdict', 'rsa-keys', 'secp256k1-keys'],
    publishesToD: true,
    fixed: () => ({}),
    addressOf: multiaddr,
    ...identities,
    async routerOf (options, protocols, components) {
      const router = gossipsub(options)(components)
      router.protocols = protocols
      return router
    },
    seqnoOf,
    textOf: (id) => id.toString(),
    idText: (router, id) => router.msgIdToStrFn(id),
    scoreOf: (router, id) => router.getScore(id),
    heard (router, receive) {
      router.addEventListener('gossipsub:message', ({ detail }) => { receive(detail) })
    },
    subscribe (router, topic) { router.subscribe(topic) },
    startHeartbeats: restartHeartbeats,
    offered: (router) => router.protocols
  }
}
