// What the release is configured with, what it adds to the protocol, and what it sets itself.
import { contentId } from './world.mjs'

const BOUND_MS = 1000
const FLOODSUB = '/floodsub/1.0.0'
const SPOKEN = {
  'gossipsub-1.0': ['/meshsub/1.0.0', FLOODSUB],
  'gossipsub-1.1': ['/meshsub/1.1.0', '/meshsub/1.0.0', FLOODSUB],
  'gossipsub-1.2': ['/meshsub/1.2.0', '/meshsub/1.1.0', '/meshsub/1.0.0', FLOODSUB]
}
export const CAPABILITIES = [
  'clock', 'flood-publish', 'identity', 'raw', 'score', 'score-parameters', 'stall', 'state', 'strict-no-sign'
]

/** What the router does beyond the protocol: words, clauses whose verdicts lean on it, how to switch it off. */
const ADDITIONS = {
  'score-cache': {
    says: 'a cache of scores: one that was computed counts for one heartbeat interval, whatever happens meanwhile',
    clauses: ['gs1.1/threshold.*', 'gs1.1/score.*'],
    isIn: (router) => 'scoreCache' in router.score,
    off (router) {
      router.score.scoreCacheValidityMs = 0
      // Before 1.0 it lasts as long as the decay interval.
      router.score.scoreCache.get = () => undefined
    }
  },
  'accept-list': {
    says: 'a pass for each peer whose score was not negative: its next 128 RPCs within a second are taken unasked',
    clauses: ['gs1.1/threshold.graylist'],
    isIn: (router) => 'acceptFromWhitelist' in router,
    off: (router) => { router.acceptFromWhitelist.get = () => undefined }
  },
  'graft-on-subscribe': {
    says: 'a graft at once of each peer that subscribes, while the mesh has fewer than D_low members',
    clauses: ['gs1.0/heartbeat.*'],
    isIn: (router) => 'graftOnSubscribe' in router,
    off: (router) => { router.graftOnSubscribe = () => false }
  },
  'publish-to-d': {
    says: 'a copy of its own messages for further subscribers, while the mesh has fewer than D members',
    clauses: ['gs1.0/publish.*'],
    isIn: (router, era) => era.publishesToD,
    off: (router) => {
      const select = router.selectPeersToPublish.bind(router)
      router.selectPeersToPublish = (topic, flood) => {
        const selected = select(topic, flood)
        const mesh = router.mesh.get(topic)
        if (!(flood ?? router.opts.floodPublish) && mesh?.size > 0) {
          for (const id of selected.tosend) {
            if (!mesh.has(id) && !router.direct.has(id) && !router.floodsubPeers.has(id)) {
              selected.tosend.delete(id)
            }
          }
        }
        return selected
      }
    }
  }
}

const SWITCHED = {
  'it sets the message-id function; the default one reads the key of the author, not the id': ['pubsub/id.*'],
  'it sets the time of the first heartbeat, a constant of the release': [],
  'it lifts the bound of a second on the decay interval and the activation of P3': ['gs1.1/score.*'],
  'it lets messages be published without peers and twice, which would be errors by default': [],
  'it sets the thresholds, and gives weight to the score of the application alone, or to what is asked for': [
    'gs1.1/threshold.*', 'gs1.1/score.*'
  ]
}

const IDS = {
  origin: (message, era) => new Uint8Array(Buffer.concat([era.authorOf(message), era.seqnoOf(message)])),
  content: (message) => contentId(message.data),
  hex: (message) => new Uint8Array(Buffer.from(Buffer.from(contentId(message.data)).toString('hex')))
}

/** What the release sets itself, where it cannot be given. */
function fixed (parameters) {
  return {
    gossip_retransmission: 3,
    max_ihave_messages: 10,
    max_ihave_length: 5000,
    idontwant_heartbeats: parameters.mcache_len
  }
}

function scoreParams (scores, scoreOf) {
  const none = { topics: [], topic_score_cap: 0, app_specific_weight: 1, decay_interval_ms: 1000 }
  const given = scores ?? none
  return {
    appSpecificScore: scoreOf,
    appSpecificWeight: given.app_specific_weight,
    topicScoreCap: given.topic_score_cap,
    IPColocationFactorWeight: given.ip_colocation_factor_weight ?? 0,
    IPColocationFactorThreshold: given.ip_colocation_factor_threshold ?? 1,
    behaviourPenaltyWeight: given.behaviour_penalty_weight ?? 0,
    behaviourPenaltyDecay: given.behaviour_penalty_decay ?? 0.5,
    decayInterval: Math.max(given.decay_interval_ms, BOUND_MS),
    decayToZero: given.decay_to_zero ?? 0.01,
    retainScore: given.retain_score_ms ?? 10_000,
    topics: Object.fromEntries(given.topics.map(each => [each.topic, topicScoreParams(each)]))
  }
}

function topicScoreParams (given) {
  const renamed = {
    timeInMeshQuantum: given.time_in_mesh_quantum_ms,
    meshMessageDeliveriesWindow: given.mesh_message_deliveries_window_ms,
    meshMessageDeliveriesActivation: Math.max(given.mesh_message_deliveries_activation_ms, BOUND_MS)
  }
  const camel = (name) => name.replace(/_(.)/g, (_, letter) => letter.toUpperCase())
  const same = Object.entries(given).filter(([name]) => name !== 'topic' && !name.endsWith('_ms'))
  return { ...Object.fromEntries(same.map(([name, value]) => [camel(name), value])), ...renamed }
}

/** The release takes no decay interval or activation below a second, where the protocol has no such bound. */
function liftBounds (params, scores) {
  params.decayInterval = scores?.decay_interval_ms ?? params.decayInterval
  for (const each of scores?.topics ?? []) {
    params.topics[each.topic].meshMessageDeliveriesActivation = each.mesh_message_deliveries_activation_ms
  }
}

function options (parameters, scoreOf, directPeers, era) {
  const idOf = IDS[parameters.message_id]
  return {
    D: parameters.d,
    Dlo: parameters.d_low,
    Dhi: parameters.d_high,
    Dscore: parameters.d_score,
    Dout: parameters.d_out,
    Dlazy: parameters.d_lazy,
    gossipFactor: parameters.gossip_factor,
    heartbeatInterval: parameters.heartbeat_interval_ms,
    fanoutTTL: parameters.fanout_ttl_ms,
    mcacheLength: parameters.mcache_len,
    mcacheGossip: parameters.mcache_gossip,
    seenTTL: parameters.seen_ttl_ms,
    pruneBackoff: parameters.prune_backoff_s * 1000,
    unsubcribeBackoff: parameters.unsubscribe_backoff_s * 1000,
    floodPublish: parameters.flood_publish,
    opportunisticGraftTicks: parameters.opportunistic_graft_ticks,
    opportunisticGraftPeers: parameters.opportunistic_graft_peers,
    idontwantMinDataSize: parameters.idontwant_min_bytes,
    idontwantMaxMessages: parameters.max_idontwant_messages,
    prunePeers: parameters.prune_peers,
    doPX: parameters.prune_peers > 0,
    gossipsubIWantFollowupMs: parameters.scores?.iwant_followup_ms ?? 3000,
    globalSignaturePolicy: parameters.signature_policy,
    asyncValidation: parameters.validation === 'manual',
    msgIdFn: (message) => idOf(message, era),
    allowPublishToZeroPeers: true,
    allowPublishToZeroTopicPeers: true,
    ignoreDuplicatePublishError: true,
    directPeers,
    scoreParams: scoreParams(parameters.scores, scoreOf),
    scoreThresholds: {
      gossipThreshold: parameters.gossip_threshold,
      publishThreshold: parameters.publish_threshold,
      graylistThreshold: parameters.graylist_threshold,
      acceptPXThreshold: parameters.accept_px_threshold,
      opportunisticGraftThreshold: parameters.opportunistic_graft_threshold
    }
  }
}

/** Switches additions off that `init` does without; answers their names. */
function switchOff (router, era, init) {
  const there = additionsOf(router, era)
  const unknown = (init.without ?? []).filter(name => !there.includes(name))
  if (unknown.length > 0) {
    throw new Error(`no addition ${unknown.join(', ')}; there are ${there.join(', ')}`)
  }
  const off = there.filter(name => !init.extras || init.without?.includes(name))
  for (const name of off) {
    ADDITIONS[name].off(router)
  }
  return off
}

function additionsOf (router, era) {
  return Object.keys(ADDITIONS).filter(name => ADDITIONS[name].isIn(router, era))
}

/** What is to be told of a router that was started without the additions `off`. */
export function told (router, era, init, off) {
  const switched = { ...SWITCHED }
  for (const name of off) {
    switched[`it switches off ${name}: ${ADDITIONS[name].says}`] = ADDITIONS[name].clauses
  }
  return {
    fixed: { ...fixed(init.parameters), ...era.fixed(init.parameters) },
    additions: Object.fromEntries(additionsOf(router, era).map(name => [name, ADDITIONS[name].says])),
    switched
  }
}

/** A started router as `init` asks for it, and what it adds to the protocol and is switched off. */
export async function started (era, node, init, scoreOf) {
  const { parameters, protocol } = init
  if (!era.protocols.includes(protocol) || parameters == null) {
    throw new Error(`no protocol ${protocol}: there are ${era.protocols.join(', ')}`)
  }
  const explicit = await Promise.all(parameters.explicit_peers.map(async (peer) => await node.keys.of(peer)))
  const directPeers = explicit.map(({ id }) => ({ id, addrs: [] }))
  const router = await era.routerOf(options(parameters, scoreOf, directPeers, era), SPOKEN[protocol], node.components, parameters)
  liftBounds(router.score.params, parameters.scores)
  const off = switchOff(router, era, init)
  await router.start()
  era.startHeartbeats(router, parameters.heartbeat_delay_ms)
  return { router, off }
}
