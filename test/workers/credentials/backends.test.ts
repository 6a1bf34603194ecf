import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { MasterConfig } from "../../../src/config/load.ts";
import type { ConfigMap } from "../../../src/config/yaml/values.ts";
import { loginFaults } from "../../../src/sidecar/availability.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { checkCredential } from "../../../src/workers/credentials/backends.ts";

const folder = mkdtempSync(join(tmpdir(), "sw-backends-"));
after(() => rmSync(folder, { recursive: true }));
const users = join(folder, "users");

function check(eauth: string, config: ConfigMap, username: string, password: string, opts: [string, unknown][] = []) {
  const externalAuth = { [eauth]: config };
  return checkCredential({ externalAuth, isPermissive: false, opts: new Map(opts) }, { eauth, username, password });
}

async function fileKnows(lines: readonly string[], settings: ConfigMap, username: string, password: string) {
  writeFileSync(users, `${lines.join("\n")}\n`);
  return await check("file", { "^filename": users, ...settings }, username, password);
}

const refused = { isAuthentic: false, groups: [] };
const authentic = { isAuthentic: true, groups: [] };
const md5 = (text: string) => createHash("md5").update(text).digest("hex");

describe("the eauth system file", () => {
  it("knows users of a text file, whose first line counts", async () => {
    const lines = ["ann:one", "bob:two words", "ann:three"];
    assert.deepEqual(await fileKnows(lines, {}, "ann", "one"), authentic);
    assert.deepEqual(await fileKnows(lines, {}, "bob", "two words"), authentic);
    for (const [name, password] of [
      ["ann", "three"],
      ["bob", "two"],
      ["eve", ""],
      ["", ""],
    ] as const)
      assert.deepEqual(await fileKnows(lines, {}, name, password), refused);
  });

  it("takes Salt's settings of fields and hashes", async () => {
    const settings = { "^hashtype": "md5", "^field_separator": "|", "^username_field": 2, "^password_field": "3" };
    const lines = [`46|ann|${md5("one")}`];
    assert.deepEqual(await fileKnows(lines, settings, "ann", "one"), authentic);
    assert.deepEqual(await fileKnows(lines, settings, "ann", md5("one")), refused);
    assert.match((await fileKnows(lines, { ...settings, "^hashtype": "crc" }, "ann", "one")).fault ?? "", /\^hashtype/);
    assert.match((await fileKnows(["ann"], {}, "ann", "")).fault ?? "", /lacks/);
  });

  it("reads Apache's files", async () => {
    const hash = "$apr1$abcdefgh$WY//EEVIXwWsRSP7E7Rvl0";
    const htpasswd = { "^filetype": "htpasswd" };
    assert.deepEqual(await fileKnows([`ann:${hash}`], htpasswd, "ann", "pä$$ word"), authentic);
    assert.deepEqual(await fileKnows([`ann:${hash}`], htpasswd, "ann", hash), refused);
    assert.match((await fileKnows(["ann:$2x$05$x"], htpasswd, "ann", "x")).fault ?? "", /not available/);
    const htdigest = { "^filetype": "htdigest", "^realm": "office" };
    const lines = [`ann:home:${md5("ann:home:one")}`, `ann:office:${md5("ann:office:two")}`];
    assert.deepEqual(await fileKnows(lines, htdigest, "ann", "two"), authentic);
    assert.deepEqual(await fileKnows(lines, htdigest, "ann", "one"), refused);
  });

  it("knows bcrypt and argon2id, checks one hash for names that it does not know, and refuses what costs too much", async () => {
    const bcrypt = "$2y$05$abcdefghijklmnopqrstuuZrr8YzKjHH5R07jyanXlkaGVn8UVijC";
    const argon2id = "$argon2id$v=19$m=4096,t=3,p=4$c2FsdHNhbHQ$jDKpfwZOVC76kq22owpvBQXv7Zhl25E6X3soOUpGSuM";
    const htpasswd = { "^filetype": "htpasswd" };
    for (const [hashtype, hash] of Object.entries({ bcrypt, argon2id }))
      for (const settings of [htpasswd, { "^hashtype": hashtype }]) {
        const lines = [`bob:${hash}`, `ann:${hash}`];
        assert.deepEqual(await fileKnows(lines, settings, "ann", "pä$$ word"), authentic, hashtype);
        for (const [name, password] of [
          ["ann", "pä$$ wor"],
          ["ann", ""],
          ["ann", hash],
          ["eve", "pä$$ word"],
        ] as const)
          assert.deepEqual(await fileKnows(lines, settings, name, password), refused, `${hashtype} ${name}`);
      }
    const other = { "^hashtype": "argon2id" };
    assert.match((await fileKnows([`ann:${bcrypt}`], other, "ann", "x")).fault ?? "", /not hashed with argon2id/);
    const costly = await fileKnows([`ann:${bcrypt.replace("05", "31")}`], htpasswd, "ann", "x");
    assert.match(costly.fault ?? "", /bcrypt hash has cost 31/);
  });

  it("says what is wrong with its file", async () => {
    assert.match((await check("file", {}, "ann", "one")).fault ?? "", /needs \^filename/);
    assert.match((await check("file", { "^filename": join(folder, "none") }, "a", "b")).fault ?? "", /cannot be read/);
  });
});

describe("other eauth systems", () => {
  it("are asked where they are enabled and there", async () => {
    assert.deepEqual(await check("auto", {}, "anybody", ""), authentic);
    assert.deepEqual(await check("sharedsecret", {}, "ann", "word", [["sharedsecret", "word"]]), authentic);
    assert.deepEqual(await check("sharedsecret", {}, "ann", "words", [["sharedsecret", "word"]]), refused);
    assert.match((await check("sharedsecret", {}, "ann", "")).fault ?? "", /needs the option/);
    assert.match((await check("django", {}, "ann", "one")).fault ?? "", /not available/);
    const config = { externalAuth: { file: {} }, isPermissive: false, opts: new Map() };
    const asked = await checkCredential(config, { eauth: "auto", username: "ann", password: "" });
    assert.match(asked.fault ?? "", /not enabled/);
    const named = { external_auth: { django: {}, file: {}, ours: {} } };
    const served = [{ option: "external_auth", kind: "auth", name: "ours" }] as const;
    const faults = loginFaults({ ...named, sitePlugins: served } as unknown as MasterConfig);
    assert.equal(faults.length, 1);
    assert.match(faults.join(), /^external_auth: 'django' is not available/);
  });

  it("may be a web service, which adds to what a user may do", async () => {
    const bodies: string[] = [];
    const server = createServer(async (request, response) => {
      let body = "";
      for await (const part of request) body += String(part);
      bodies.push(body);
      const isKnown = new URLSearchParams(body).get("password") === "o&ne";
      response.writeHead(isKnown ? 200 : 401).end(isKnown ? '["sys.*", {"web*": ["cmd.run"]}]' : "");
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/check`;
      const known = await check("rest", { "^url": url, ann: ["test.*"] }, "ann", "o&ne");
      assert.equal(known.isAuthentic, true);
      const grants = decode(known.grants ?? new Uint8Array());
      assert.deepEqual(grants, ["test.*", "sys.*", new Map([["web*", ["cmd.run"]]])]);
      assert.deepEqual(await check("rest", { "^url": url }, "ann", "two"), refused);
      assert.equal(bodies[0], "username=ann&password=o%26ne");
    } finally {
      server.closeAllConnections();
      server.close();
    }
    assert.match((await check("rest", { "^url": "nowhere" }, "ann", "one")).fault ?? "", /\^url/);
  });
});
