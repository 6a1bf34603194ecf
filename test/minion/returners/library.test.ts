import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isInstalled, missingText } from "../../../src/minion/returners/contract/library.ts";
import type { Returner } from "../../../src/minion/returners/contract/returner.ts";
import { returnerDocs } from "../../../src/minion/returners/registry.ts";
import { refusals } from "../../../src/minion/returners/run.ts";

describe("libraries of returners", () => {
  const absent = { specifier: "saltworks-has-no-such-package", install: "@scope/absent@3" };
  const returner: Returner = { name: "far", doc: "", libraries: [absent], returner: async () => undefined };

  it("that are missing refuse their returner with the command that installs them", () => {
    assert.equal(isInstalled(absent), false);
    assert.equal(isInstalled({ specifier: "pino", install: "pino@10" }), true);
    const why = refusals(new Map([["far", returner]]), ["far"]).get("far") ?? "";
    assert.equal(why, missingText("far", absent));
    assert.match(why, /needs the package @scope\/absent, .*: npm --prefix \/\S+ install --no-save @scope\/absent@3$/);
  });

  it("that are missing keep their returner out of sys.list_returners", () => {
    assert.deepEqual([...returnerDocs(new Map([["far", returner]])).keys()], []);
  });
});
