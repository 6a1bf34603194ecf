import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { grantsOfUser } from "../../../src/config/external-auth.ts";
import type { ConfigMap, ConfigValue } from "../../../src/config/yaml/values.ts";
import {
  type AskedCall,
  grantsOfLocalUser,
  isBlacklisted,
  Permissions,
} from "../../../src/master/operators/permissions.ts";
import { expressionMatches } from "../../../src/python/expression.ts";
import type { Value } from "../../../src/wire/values.ts";
import { repositoryRoot } from "../../root.ts";

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Recorded = {
  readonly targets: Readonly<Record<string, readonly string[]>>;
  readonly publish: readonly { grants: ConfigValue[]; fun: string; arg: Json[]; minions: string[]; granted: boolean }[];
  readonly call: readonly {
    grants: ConfigValue[];
    kind: "runner" | "wheel";
    fun: string;
    args: Json[];
    kwargs: { [name: string]: Json };
    decision: string;
  }[];
  readonly grants: readonly {
    backend: ConfigMap;
    name: string;
    groups: string[];
    permissive: boolean;
    grants: ConfigValue[];
  }[];
  readonly local: readonly { acl: ConfigMap; user: string; grants: ConfigValue[] }[];
  readonly blacklist: readonly { blacklist: ConfigMap; user: string; fun: string | string[]; refused: boolean }[];
};

/** The decisions of Salt 3007, from test/vectors/made/permissions.py. */
const recorded = JSON.parse(
  readFileSync(join(repositoryRoot, "test/vectors/permissions.json"), "utf8"),
) as unknown as Recorded;

/** The value as decoded from the wire. */
function toValue(json: Json): Value {
  if (Array.isArray(json)) return json.map(toValue);
  if (typeof json !== "object" || json === null) return json;
  return new Map(Object.entries(json).map(([name, member]) => [name, toValue(member)]));
}

function mayPublish(grants: readonly ConfigValue[], calls: readonly AskedCall[], minions: readonly string[]) {
  const isWithin = async (target: string) => minions.every((id) => recorded.targets[target]?.includes(id) === true);
  return new Permissions().mayPublish(grants, calls, isWithin, new Set(["saltutil.find_job"]));
}

describe("permissions", () => {
  it("decide about publishes as Salt does", async () => {
    const wrong: unknown[] = [];
    for (const record of recorded.publish) {
      const call = { fun: record.fun, args: record.arg.map(toValue), kwargs: undefined };
      if ((await mayPublish(record.grants, [call], record.minions)) !== record.granted) wrong.push(record);
    }
    assert.deepEqual(wrong, []);
    assert.ok(recorded.publish.length > 500);
  });

  it("require a grant for each of several functions, where Salt requires one", async () => {
    const call = (fun: string) => ({ fun, args: [], kwargs: undefined });
    assert.equal(await mayPublish(["test.*"], [call("test.ping"), call("test.echo")], ["web1"]), true);
    assert.equal(await mayPublish(["test.*"], [call("test.ping"), call("cmd.run")], ["web1"]), false);
    assert.equal(await mayPublish(["test.*"], [call("saltutil.find_job"), call("cmd.run")], ["web1"]), false);
    assert.equal(await mayPublish([".*"], [], ["web1"]), false);
  });

  it("decide about runner and wheel functions as Salt does", () => {
    const permissions = new Permissions();
    const wrong = recorded.call.filter(({ grants, kind, fun, args, kwargs, decision }) => {
      const named = new Map(Object.entries(kwargs).map(([name, value]) => [name, toValue(value)]));
      return permissions.mayCall(grants, kind, { fun, args: args.map(toValue), kwargs: named }) !== decision;
    });
    assert.deepEqual(wrong, []);
    assert.ok(recorded.call.length > 200);
  });

  it("are gathered from a backend's users and groups as Salt does it", () => {
    const isPattern = ({ name }: { name: string }) => /[*.[]/.test(name);
    for (const { backend, name, groups, permissive, grants } of recorded.grants.filter((record) => !isPattern(record)))
      assert.deepEqual(
        grantsOfUser(backend, name, groups, permissive),
        grants,
        `${name} in ${JSON.stringify(backend)}`,
      );
  });

  it("do not let a user's name be a pattern, where Salt does", () => {
    for (const name of ["fr*", ".*", "fr[e]d"]) {
      assert.deepEqual(grantsOfUser({ fred: ["test.*"] }, name, [], false), []);
      assert.deepEqual(grantsOfUser({ fred: ["test.*"], "*": ["sys.*"] }, name, [], false), ["sys.*"]);
    }
    assert.deepEqual(grantsOfUser({ "^filename": ["x"] }, "^filename", [], false), []);
  });

  it("of publisher_acl and its blacklist are Salt's", () => {
    for (const { acl, user, grants } of recorded.local) assert.deepEqual(grantsOfLocalUser(acl, user), grants, user);
    for (const { blacklist, user, fun, refused } of recorded.blacklist)
      assert.equal(isBlacklisted(blacklist, user, typeof fun === "string" ? [fun] : fun), refused, `${user} ${fun}`);
  });

  it("take a lone text for a list of one, and ignore a pattern that cannot be read", () => {
    assert.deepEqual(grantsOfLocalUser({ ann: "test.*" }, "ann"), ["test.*"]);
    assert.equal(expressionMatches("ann", "(a|b"), false);
    assert.equal(expressionMatches("ann", "a|ann"), true);
    assert.equal(expressionMatches("annex", "a|ann"), false);
  });
});
