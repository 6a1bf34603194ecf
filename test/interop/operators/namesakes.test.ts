/** A name that a local user and an eauth user share: each has the rights of its own login, on Salt's master and on ours. */
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe } from "node:test";
import { RequestChannel } from "../../../src/transport/request-channel.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { encodeClearRequest } from "../../../src/wire/request.ts";
import type { ValueMap } from "../../../src/wire/values.ts";
import { openReleases } from "../salt-releases.ts";
import { type Maker, MasterUnderTest, TestBed } from "../test-bed.ts";

const releases = await openReleases();
const release = releases.all.find(({ name }) => name === "3007");
const skip = releases.skip !== false ? releases.skip : release === undefined ? "Salt 3007 is not installed" : false;
const replyTimeoutMs = 30_000;
const password = "one-for-all-names";

/** `claimed`: the operating system's user that a login names beside its own name. */
type Login = { readonly local: string } | { readonly eauth: string; readonly claimed: string };
type Outcome = "permitted" | "AuthorizationError" | "AuthenticationError";

/** root and daemon are users of the machine and of the `file` backend; bin is on the blacklist. */
const options = (users: string) => ({
  publisher_acl: { daemon: ["test.version"] },
  publisher_acl_blacklist: { users: ["bin"] },
  external_auth: { file: { "^filename": users, root: ["test.ping"], daemon: ["test.ping"], bin: ["test.ping"] } },
});
const same: readonly (readonly [Login, fun: string, Outcome])[] = [
  [{ local: "root" }, "test.version", "permitted"],
  [{ eauth: "root", claimed: "root" }, "test.ping", "permitted"],
  [{ eauth: "root", claimed: "root" }, "test.version", "AuthorizationError"],
  [{ local: "daemon" }, "test.version", "permitted"],
  [{ local: "daemon" }, "test.ping", "AuthorizationError"],
  [{ eauth: "daemon", claimed: "daemon" }, "test.ping", "permitted"],
  [{ eauth: "daemon", claimed: "daemon" }, "test.version", "AuthorizationError"],
  [{ eauth: "daemon", claimed: "root" }, "test.version", "AuthorizationError"],
];

describe("a local user and an eauth user of one name", { skip }, () => {
  const bed = new TestBed();
  const masters = new Map<Maker, MasterUnderTest>();

  before(async () => {
    if (release === undefined) return;
    const users = join(bed.folder, "users");
    writeFileSync(users, ["root", "daemon", "bin"].map((name) => `${name}:${password}\n`).join(""));
    for (const maker of [release, "ours" as const]) {
      const name = maker === "ours" ? "ours" : "theirs";
      const master = await MasterUnderTest.create(bed, maker, options(users), name);
      await master.start();
      masters.set(maker, master);
    }
  });
  after(() => bed.close());

  /** No minion is there, so that a permitted job goes nowhere. */
  async function publish(maker: Maker, login: Login, fun: string): Promise<Outcome> {
    const master = masters.get(maker) ?? assert.fail();
    const channel = new RequestChannel({
      endpoint: `tcp://127.0.0.1:${master.requestPort}`,
      timeoutMs: replyTimeoutMs,
      tries: 1,
    });
    const job = { cmd: "publish", fun, arg: [], tgt: "*", tgt_type: "glob", ret: "", jid: "" };
    const proof =
      "local" in login
        ? { user: login.local, kwargs: {}, key: readFileSync(join(master.cacheDir, `.${login.local}_key`), "latin1") }
        : { user: login.claimed, kwargs: { eauth: "file", username: login.eauth, password } };
    try {
      const reply = decode(await channel.request(encodeClearRequest({ ...job, ...proof }, 3))) as ValueMap;
      const error = reply.get("error");
      if (error === undefined) {
        assert.ok(reply.has("load"));
        return "permitted";
      }
      assert.ok(error instanceof Map, String(error));
      return error.get("name") as Outcome;
    } finally {
      channel.close();
    }
  }

  bed.it("have the rights of their own login alone, as on Salt's master", async () => {
    for (const maker of masters.keys())
      for (const [login, fun, expected] of same)
        assert.equal(await publish(maker, login, fun), expected, `${JSON.stringify(login)} ${fun}`);
  });

  bed.it(
    "are both on the blacklist; on Salt's master a login escapes it by naming another user of the system",
    async () => {
      const login = { eauth: "bin", claimed: "root" };
      assert.equal(await publish(release ?? assert.fail(), login, "test.ping"), "permitted");
      assert.equal(await publish("ours", login, "test.ping"), "AuthorizationError");
    },
  );
});
