import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setFieldsForSyndics } from "../../../src/master/publish/syndic-fields.ts";
import { noteBelow, Syndics } from "../../../src/master/syndic/syndics.ts";
import type { Value } from "../../../src/wire/values.ts";
import { temporaryDirectories } from "../../store/temporary.ts";

const makeFolder = temporaryDirectories();

function openSyndics(directory = join(makeFolder(), "syndics"), accepted = ["low", "former"]) {
  const errors: unknown[] = [];
  const logger = { info: () => undefined, error: (fault: unknown) => void errors.push(fault) };
  return { directory, errors, syndics: new Syndics({ directory, isAccepted: (id) => accepted.includes(id), logger }) };
}

describe("known syndics", () => {
  it("have a marker, where Salt's command line looks for it, as long as they have a key", () => {
    const { directory, syndics } = openSyndics();
    syndics.noteSeen("low");
    syndics.noteSeen("stranger");
    assert.deepEqual([[...syndics.ids], readdirSync(directory)], [["low"], ["low"]]);
    assert.deepEqual([...openSyndics(directory).syndics.ids], ["low"]);
    assert.deepEqual([...openSyndics(directory, []).syndics.ids], []);
    syndics.forget("low");
    assert.deepEqual([syndics.count, readdirSync(directory)], [0, []]);
  });

  it("are known without their marker if it cannot be written", () => {
    const { directory, syndics, errors } = openSyndics();
    mkdirSync(join(directory, ".."), { recursive: true });
    writeFileSync(directory, "a file where the folder should be");
    syndics.noteSeen("low");
    assert.deepEqual([[...syndics.ids], errors.length, existsSync(directory)], [["low"], 1, true]);
  });

  it("add minions to jobs, which clients are told once", () => {
    const { syndics } = openSyndics();
    const fired: unknown[] = [];
    const tracker = { expectMore: (jid: string, ids: readonly string[]) => (jid === "known" ? ids.slice(1) : []) };
    const expected = ["known", "unknown"].map((jid) => ({ jid, minions: ["a", "b"] }));
    const fire = (tag: string, data: unknown) => void fired.push([tag, data]);
    noteBelow({ syndics: ["low"], expected }, syndics, tracker, fire);
    assert.deepEqual(fired, [["saltworks/job/known/new", { jid: "known", minions: ["b"] }]]);
    assert.equal(syndics.count, 1);
    noteBelow({ syndics: ["low"], expected }, undefined, tracker, fire);
    assert.equal(fired.length, 1);
  });
});

describe("a publish for lower masters", () => {
  const fieldsWith = (isOrdering: boolean, grants: readonly string[] | undefined, given: [string, Value][]) => {
    const fields = new Map<Value, Value>(given);
    setFieldsForSyndics(fields, grants, { order_masters: isOrdering, timeout: 5 });
    return Object.fromEntries(fields);
  };

  it("carries the user's grants, never the ones that a client gives", () => {
    assert.deepEqual(fieldsWith(true, undefined, [["auth_list", ["x"]]]), { to: 5, auth_list: [] });
    assert.deepEqual(fieldsWith(true, ["test.*"], [["to", 9]]), { to: 9, auth_list: ["test.*"] });
    assert.deepEqual(fieldsWith(false, undefined, [["auth_list", ["x"]]]), {});
  });

  it("never has an empty list for a restricted user, which would permit everything", () => {
    assert.deepEqual(fieldsWith(true, [], []), { to: 5, auth_list: ["saltutil.find_job"] });
  });
});
