import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Overrides } from "../../../src/config/load.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import type { MineAsk } from "../../../src/workers/messages/deferred.ts";
import { acceptMinion, nonce, openWorkerState, replyOf, sealedFrame, sealedLoad } from "../open-worker-state.ts";

/** The outcome of web1's request: work for other workers, or (undefined) an empty answer. */
async function asked(load: Record<string, Encodable>, overrides: Overrides = {}): Promise<MineAsk | undefined> {
  const bench = openWorkerState(overrides);
  const crypticle = await acceptMinion(bench, "web1");
  const question = sealedLoad("web1", { cmd: "_mine_get", tgt: "*", fun: "ip", ...load });
  const result = await bench.send(sealedFrame(crypticle.seal(question), "web1"));
  assert.deepEqual(bench.faults, []);
  const [work] = result.deferred;
  if (work?.kind === "mineGet") return work.ask;
  const sealed = decode(replyOf(result), "bytes") as Uint8Array;
  assert.deepEqual(decode(crypticle.open(sealed, nonce)), new Map());
  return undefined;
}

const kindOf = async (load: Record<string, Encodable>) => (await asked(load))?.targetKind;

describe("_mine_get", () => {
  it("goes to all workers with who asks and how the answer is sealed", async () => {
    const ask = await asked({ tgt: "role:web", tgt_type: "grain" });
    assert.deepEqual(
      { ...ask, target: decode(ask?.target ?? Buffer.alloc(0)) },
      {
        id: "web1",
        target: "role:web",
        targetKind: "grain",
        functions: ["ip"],
        isByFunction: false,
        seal: { key: "session", nonce },
      },
    );
  });

  it("is answered by function for several names and for any list", async () => {
    const shape = async (fun: Encodable) => {
      const ask = await asked({ fun });
      return [ask?.functions, ask?.isByFunction];
    };
    assert.deepEqual(await shape("a,b"), [["a", "b"], true]);
    assert.deepEqual(await shape("a,a"), [["a"], false]);
    assert.deepEqual(await shape(["a"]), [["a"], true]);
  });

  it("takes the kind of target as old and new minions name it, and pillar values only as they are", async () => {
    assert.equal(await kindOf({}), "glob");
    assert.equal(await kindOf({ tgt: "web.*", expr_form: "pcre" }), "pcre");
    assert.equal(await kindOf({ expr_form: "pcre", tgt_type: "list" }), "list");
    assert.equal(await kindOf({ tgt: "role:web", tgt_type: "pillar" }), "pillar_exact");
    assert.equal(await kindOf({ tgt_type: "Compound" }), "compound_pillar_exact");
  });

  it("finds nothing where target or functions cannot be read", async () => {
    for (const load of [
      { tgt: 7 },
      { tgt: ["a", 7], tgt_type: "list" },
      { tgt: "[", tgt_type: "pcre" },
      { tgt_type: "nothing" },
      { tgt_type: 7 },
      { tgt: undefined },
      { fun: 7 },
      { fun: [] },
      { fun: undefined },
    ]) {
      assert.equal(await asked(load), undefined, JSON.stringify(load));
    }
  });

  it("gives only what mine_get allows the minion; of several functions the others", async () => {
    const mine_get = { "web\\d": ["net.*", "ip"], "db.*": [".*"] };
    assert.deepEqual((await asked({ fun: "ip" }, { mine_get }))?.functions, ["ip"]);
    const several = await asked({ fun: ["grains", "network"] }, { mine_get });
    assert.deepEqual([several?.functions, several?.isByFunction], [["network"], true]);
    assert.equal(await asked({ fun: "grains" }, { mine_get }), undefined);
    assert.equal(await asked({ fun: "ip" }, { mine_get: {} }), undefined);
    assert.equal(await asked({ fun: "ip" }, { mine_get: { "(": [".*"], "web.*": ["("] } }), undefined);
  });
});
