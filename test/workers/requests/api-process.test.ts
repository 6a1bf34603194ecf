import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode } from "../../../src/wire/msgpack.ts";
import type { Encodable, ValueMap } from "../../../src/wire/values.ts";
import { clearFrame, openWorkerState, replyOf } from "../open-worker-state.ts";

const publish = { cmd: "publish", tgt: "*", fun: "test.ping", arg: [], tgt_type: "glob", ret: "", jid: "" };

describe("a request of the API process", () => {
  it("carries the address of an HTTP client only with the API process's own key, which stands for no user", async () => {
    const bench = openWorkerState();
    const login = { eauth: "file", username: "ann", password: "secret" };
    const api = { user: ":api", key: "api-secret", client_address: "192.0.2.7" };
    const addressIn = async (load: Record<string, Encodable>) => {
      const { deferred, proven } = await bench.send(clearFrame(load));
      const [work] = deferred;
      return [work !== undefined && "clientAddress" in work ? work.clientAddress : undefined, proven[0]];
    };
    const commands = [
      { ...publish, kwargs: login },
      { cmd: "wheel", fun: "key.list_all", ...login },
      { cmd: "mk_token", ...login },
      { cmd: "get_token", token: "t" },
    ];
    for (const load of commands) {
      assert.deepEqual(await addressIn({ ...load, ...api }), ["192.0.2.7", 1], load.cmd);
      assert.deepEqual(await addressIn({ ...load, ...api, key: "wrong" }), [undefined, 0], load.cmd);
      assert.deepEqual(await addressIn({ ...load, ...api, client_address: "x" }), [undefined, 0], load.cmd);
      const asRoot = { ...load, ...api, user: "root", key: "local-secret" };
      assert.deepEqual(await addressIn(asRoot), [undefined, 0], "the key of a user says nothing about other clients");
    }
    const reply = decode(replyOf(await bench.send(clearFrame({ ...publish, ...api })))) as ValueMap;
    assert.equal((reply.get("error") as ValueMap).get("name"), "AuthenticationError", "without a login");
  });
});
