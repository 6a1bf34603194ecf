import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import { minionReturnQueueBytesMax, minionReturnQueueMax } from "../../../src/limits.ts";
import { ReturnSender, returnTimeoutMs } from "../../../src/minion/session/return-sender.ts";
import type { Load, RequestOptions } from "../../../src/minion/session/session.ts";
import type { Value } from "../../../src/wire/values.ts";

const config = { id: "unit", pub_ret: true, return_retry_timer: 5, return_retry_timer_max: 10, return_retry_tries: 3 };
const result = (jid: string) =>
  new Map<Value, Value>([
    ["success", true],
    ["jid", jid],
  ]);

function prepare(more: Partial<typeof config> = {}) {
  const sent: { readonly load: Load; readonly options: RequestOptions | undefined }[] = [];
  const state = { answer: () => Promise.resolve(null as Value) };
  const session = {
    request: (load: Load, options?: RequestOptions) => {
      sent.push({ load, options });
      return state.answer();
    },
  };
  return { sender: new ReturnSender(session, { ...config, ...more }, pino({ level: "silent" })), sent, state };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("ReturnSender", () => {
  it("sends returns in order, one at a time, with Salt's tries and a wait between both options", async () => {
    const { sender, sent, state } = prepare();
    let release = () => undefined as unknown;
    state.answer = () => new Promise((resolve) => (release = () => resolve(null) as undefined));
    for (const jid of ["1", "2"]) sender.send(result(jid), 10);
    await settled();
    assert.deepEqual(
      sent.map(({ load }) => load.jid),
      ["1"],
    );
    release();
    await settled();
    assert.deepEqual(
      sent.map(({ load }) => load.jid),
      ["1", "2"],
    );
    assert.deepEqual(Object.keys(sent[0]?.load ?? {}), ["cmd", "id", "success", "jid", "_stamp"]);
    assert.equal(sent[0]?.options?.tries, 3);
    const waitMs = sent[0]?.options?.timeoutMs ?? 0;
    assert.ok(waitMs >= 5_000 && waitMs <= 10_000);
    release();
  });

  it("counts a return as lost after all tries and goes on with the next", async () => {
    const { sender, sent, state } = prepare();
    state.answer = () => Promise.reject(new Error("down"));
    sender.send(result("1"), 10);
    await settled();
    state.answer = () => Promise.resolve(null);
    sender.send(result("2"), 10);
    await settled();
    assert.deepEqual([sent.length, sender.lostCount], [2, 1]);
  });

  it("limits waiting returns by number and bytes, and counts lost ones", async () => {
    const { sender, state } = prepare();
    state.answer = () => new Promise(() => undefined);
    for (let count = 0; count <= minionReturnQueueMax + 1; count += 1) sender.send(result("1"), 10);
    assert.equal(sender.lostCount, 1);
    const big = prepare();
    big.state.answer = () => new Promise(() => undefined);
    big.sender.send(result("1"), minionReturnQueueBytesMax);
    big.sender.send(result("2"), 1);
    assert.equal(big.sender.lostCount, 1);
  });

  it("sends nothing with pub_ret off", async () => {
    const { sender, sent } = prepare({ pub_ret: false });
    sender.send(result("1"), 10);
    await settled();
    assert.equal(sent.length, 0);
  });

  it("waits return_retry_timer if the maximum is not longer", () => {
    assert.equal(returnTimeoutMs({ return_retry_timer: 5, return_retry_timer_max: 5 }), 5_000);
    assert.equal(returnTimeoutMs({ return_retry_timer: 5, return_retry_timer_max: 0 }), 5_000);
  });
});
