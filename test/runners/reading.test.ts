import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isReading, readingNames } from "../../src/runners/reading.ts";
import { runnerFunctions } from "../../src/runners/registry.ts";
import { wheelFunctions } from "../../src/runners/wheel.ts";

describe("functions that only read", () => {
  it("are functions that exist", () => {
    assert.deepEqual(
      readingNames.runner.filter((name) => !runnerFunctions.has(name)),
      [],
    );
    assert.deepEqual(
      readingNames.wheel.filter((name) => !wheelFunctions.has(name)),
      [],
    );
  });

  it("change nothing, start no job and take no secret", () => {
    const others = "jobs.active jobs.abort jobs.cancel manage.status cache.flush auth.mk_token salt.cmd event.send";
    assert.deepEqual(
      others.split(" ").filter((name) => isReading("runner", name)),
      [],
    );
    assert.deepEqual(
      ["key.accept", "key.gen", "config.update_config"].filter((name) => isReading("wheel", name)),
      [],
    );
  });
});
