// A driver for quidnunc: requests on stdin, replies on stdout, one JSON object a line.
// As it stands the router does nothing. Each YOURS marks a place for your code.
import { createInterface } from 'node:readline'

// Announce only what is true.
const hello = { name: 'my-router', version: '0', protocols: ['floodsub'], capabilities: ['clock'], format: 1 }
let now = 0 // ms since init

const requests = {
  init({ seed, protocol, parameters }) {
    // YOURS: build your router from the seed and the parameters, at time 0, without peers.
    now = 0
    return { hello, again: true }
  },
  connect({ peer, protocol, outbound }) {
    // YOURS: hand the event to your router, wait until it is idle, and return what it sent:
    // did({ out: [[peer, 0, Buffer.from(rpc).toString('base64')]] })
    return did()
  },
  disconnect({ peer }) {
    return did() // YOURS
  },
  rpc({ peer, channel, data }) {
    return did() // YOURS: the RPC is Buffer.from(data, 'base64')
  },
  join({ topic }) {
    return did() // YOURS
  },
  leave({ topic }) {
    return did() // YOURS
  },
  publish({ topic, data }) {
    return did() // YOURS
  },
  advance({ ms }) {
    // YOURS: fire each timer that is due on the way, at its own instant.
    now += ms
    return did()
  }
}

function did(what = {}) {
  return { t: now, ...what }
}

// console.log would write between the replies.
console.log = console.error
for await (const line of createInterface({ input: process.stdin })) {
  const request = JSON.parse(line)
  const known = Object.hasOwn(requests, request.op)
  const reply = known ? await requests[request.op](request) : { error: `${request.op} is a request that it cannot do` }
  process.stdout.write(JSON.stringify(reply) + '\n')
}
