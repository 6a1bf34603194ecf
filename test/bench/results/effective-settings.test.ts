/** A result has the settings that decide its figures, as the master had them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resultText } from "../../../bench/commands/result-text.ts";
import { notableSettings } from "../../../bench/scenarios/setup/effective-settings.ts";
import { Float, type Value } from "../../../src/wire/values.ts";
import { sampleResult } from "../sample-result.ts";

const values = new Map<unknown, Value>([
  ["worker_threads", 1],
  ["batch_linger_us", 40_000],
  ["job_cache_durability", "fsync"],
  ["auto_accept", true],
  ["state_top", "top.sls"],
  ["gather_job_timeout", new Float(7.5)],
  ["ret_port", 28_950],
  ["pki_dir", "/tmp/sw-x/pki"],
  ["mysql.pass", "**********"],
  ["an_option_of_nobody", 1],
]);

describe("notableSettings", () => {
  it("are the decisive ones and all that differ from their defaults, without places and secrets", () => {
    assert.deepEqual(notableSettings(values), {
      batch_linger_us: 40_000,
      auto_accept: true,
      worker_threads: 1,
      job_cache_durability: "fsync",
      gather_job_timeout: 7.5,
    });
  });

  it("stand at the top of a result's text, with load and load average, in lines that fit", () => {
    const { master, scenario } = sampleResult();
    const parameters = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`parameter${index}`, index]));
    const text = resultText(
      sampleResult({ master: { ...master, settings: notableSettings(values) }, scenario: { ...scenario, parameters } }),
    );
    const head = text.slice(0, text.indexOf("\n\n"));
    assert.match(head, /^load: parameter0=0, .*\n {2}parameter/ms);
    assert.match(head, /^settings: .*worker_threads=1/m);
    assert.match(head, /^machine: load average 0\.3 at the start$/m);
    assert.ok(head.split("\n").every((line) => line.length <= 110));
  });
});
