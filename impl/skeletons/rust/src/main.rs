//! A driver for quidnunc: requests on stdin, replies on stdout, one JSON object a line.
//! As it stands the router does nothing. Each YOURS marks a place for your code.
use serde_json::{json, Value};
use std::io::{stdin, stdout, BufRead, Write};

/// Your router and its virtual clock.
#[derive(Default)]
struct Driver {
    /// Milliseconds since init.
    now: u64,
}

impl Driver {
    fn answer(&mut self, request: &Value) -> Value {
        match request["op"].as_str().unwrap_or_default() {
            "init" => {
                // YOURS: build your router from request["seed"] and request["parameters"], at time 0, without peers.
                *self = Driver::default();
                // Announce only what is true.
                return json!({"again": true, "hello": {
                    "name": "my-router", "version": "0", "protocols": ["floodsub"],
                    "capabilities": ["clock"], "format": 1,
                }});
            }
            "advance" => {
                // YOURS: fire each timer that is due on the way, at its own instant.
                self.now += request["ms"].as_u64().unwrap_or(0);
            }
            "connect" | "disconnect" | "rpc" | "join" | "leave" | "publish" => {
                // YOURS: hand the event to your router, wait until it is idle, and collect what it sent:
                // "out": [[peer, 0, RPC in base64]], "delivered": [[topic, data in base64]].
            }
            other => return json!({"error": format!("{other} is a request that it cannot do")}),
        }
        json!({"t": self.now})
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut driver = Driver::default();
    let mut out = stdout().lock();
    for line in stdin().lock().lines() {
        let reply = driver.answer(&serde_json::from_str(&line?)?);
        writeln!(out, "{reply}")?;
        out.flush()?;
    }
    Ok(())
}
