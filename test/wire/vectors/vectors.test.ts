/** Every case of every vector file is run; a file or case that no test runs fails. */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { caseNamesOf, readVectors, runElsewhere, vectorsFolder } from "./cases.ts";
import { runCrypticle } from "./crypticle-cases.ts";
import { runEvents, runIpcFrames, runJobCache, runTrim } from "./event-cases.ts";
import { runExchanges } from "./exchange-cases.ts";
import { Ledger } from "./ledger.ts";
import { runMsgpack } from "./msgpack-cases.ts";
import { runKeys, runOaep, runSign, runX931 } from "./rsa-cases.ts";
import type { JsonMap } from "./view.ts";

type Runner = (data: JsonMap, ledger: Ledger) => void;

const runners: Readonly<Record<string, Runner>> = {
  "crypticle.json": runCrypticle,
  "events_3006.json": runEvents,
  "events_3007.json": runEvents,
  "exchanges_3006.json": runExchanges,
  "exchanges_3007.json": runExchanges,
  "exchanges_3008_sha224_filtering.json": runExchanges,
  "exchanges_3008_signed_returns.json": runExchanges,
  "ipc_frames.json": runIpcFrames,
  "jobcache.json": runJobCache,
  "msgpack.json": runMsgpack,
  "rsa_keys.json": runKeys,
  "rsa_oaep.json": runOaep,
  "rsa_sign.json": runSign,
  "rsa_x931.json": runX931,
  "trim.json": runTrim,
};

describe("vectors recorded from real Salt", () => {
  const files = readdirSync(vectorsFolder).filter((name) => name.endsWith(".json"));

  it("has a runner or a named reason for each file", () => {
    const named = [...Object.keys(runners), ...Object.keys(runElsewhere)].sort();
    assert.deepEqual(files.sort(), named);
  });

  for (const file of files) {
    const runner = runners[file];
    if (runner === undefined) continue;
    it(`passes every case of ${file}`, (test) => {
      const data = readVectors(file);
      const ledger = new Ledger(caseNamesOf(file, data));
      runner(data, ledger);
      assert.deepEqual(ledger.left, [], "cases that were not run");
      assert.ok(ledger.ranCount > 0);
      test.diagnostic(`${file}: ${ledger.ranCount} cases`);
    });
  }

  it("fails a file of which one case was not run", () => {
    const ledger = new Ledger(["cases/0", "cases/1"]);
    ledger.run("cases/0", () => {});
    assert.throws(() => ledger.run("cases/1", () => assert.fail("wrong")), /case cases\/1: wrong/);
    assert.deepEqual(ledger.left, ["cases/1"]);
    assert.throws(() => caseNamesOf("msgpack.json", { cases: [], new_list: [] }), /not described: new_list/);
  });
});
