import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { describedLimits, limitsSource } from "../../scripts/docs.ts";
import { masterOptions } from "../../src/config/options/master.ts";
import * as limits from "../../src/limits.ts";
import { labelsWanted, limitCounters } from "../../src/master/metrics/limit-counters.ts";
import { metrics } from "../../src/master/metrics/table.ts";
import { repositoryRoot } from "../root.ts";
import { uncountedLimits } from "./uncounted-limits.ts";

const described = describedLimits(limitsSource(repositoryRoot));
/** Words with which comments of limits say that something is refused, dropped or cut. */
const refusal = /\b(?:refused|dropped|closed|left out|let go|goes? first|counted as)\b|over it|QUEUE_FULL/i;

describe("counters of limits", () => {
  it("belong to a limit or an option that there is", () => {
    const unknown = Object.keys(limitCounters).filter(
      (name) => !(Object.hasOwn(limits, name) || Object.hasOwn(masterOptions, name)),
    );
    assert.deepEqual(unknown, []);
  });

  it("are metrics that there are, with all of their labels", () => {
    const wrong = Object.entries(limitCounters).filter(([, counter]) => {
      const given = Object.keys(counter.labels).sort();
      const isCounter = Object.hasOwn(metrics, counter.metric) && metrics[counter.metric].kind === "counter";
      return !isCounter || labelsWanted(counter).toSorted().join() !== given.join();
    });
    assert.deepEqual(wrong, []);
  });

  it("are there for every limit that refuses something, or a reason why there is none", () => {
    const silent = [...described].filter(
      ([name, about]) => refusal.test(about) && !(name in limitCounters || name in uncountedLimits),
    );
    assert.deepEqual(
      silent.map(([name]) => name),
      [],
    );
  });

  it("are there for every option that is a bound", () => {
    const bounds = Object.keys(masterOptions).filter((name) => /_max(?:_|$)|_hwm$|^max_/.test(name));
    const silent = bounds.filter((name) => !(name in limitCounters || name in boundsWithoutRefusal));
    assert.deepEqual(silent, []);
  });

  it("are left out only for limits that there are, and never both", () => {
    const wrong = Object.keys(uncountedLimits).filter((name) => !described.has(name) || name in limitCounters);
    assert.deepEqual(wrong, []);
  });
});

/** Options with such a name that refuse nothing. */
const boundsWithoutRefusal: Readonly<Record<string, string>> = {
  max_open_files: "the process's limit is raised to it; reservedDescriptors bounds connections by what it got",
  event_return_queue_max_seconds: "events that wait this long are written",
  batch_max_frames: "more travel in the next batch",
  batch_max_bytes: "more travel in the next batch",
};
