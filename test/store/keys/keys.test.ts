/** Key directories in Salt's form. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { minionIdBytesMax } from "../../../src/limits.ts";
import { idIsValid, openKeyDirectories } from "../../../src/store/keys/keys.ts";
import { temporaryDirectories } from "../temporary.ts";

const pem = "-----BEGIN PUBLIC KEY-----\r\nabc\n-----END PUBLIC KEY-----\n";

describe("idIsValid", () => {
  const good = ["web1", "web1.example.com", "é☃", "a b", "..a"]
    .filter((id) => id !== "..a")
    .concat("a..", "a".repeat(minionIdBytesMax));
  for (const id of good) it(`takes ${JSON.stringify(id).slice(0, 40)}`, () => assert.equal(idIsValid(id), true));
  const bad = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "a\\b",
    "a\0b",
    "a\nb",
    "\u007f",
    ".hidden",
    "..a",
    "a".repeat(minionIdBytesMax + 1),
    "é".repeat(128),
    "x".repeat(10_240),
  ];
  for (const id of bad) it(`refuses ${JSON.stringify(id).slice(0, 40)}`, () => assert.equal(idIsValid(id), false));
});

describe("key directories", () => {
  const temporary = temporaryDirectories();

  it("keep the text exactly as received, in Salt's directory of its state, 0600", () => {
    const pkiDir = temporary();
    const keys = openKeyDirectories(pkiDir);
    const folders = {
      accepted: "minions",
      pending: "minions_pre",
      rejected: "minions_rejected",
      denied: "minions_denied",
    } as const;
    for (const [state, folder] of Object.entries(folders) as [keyof typeof folders, string][]) {
      keys.write(state, "web1", pem);
      assert.equal(readFileSync(join(pkiDir, folder, "web1"), "utf8"), pem);
      assert.equal(statSync(join(pkiDir, folder, "web1")).mode & 0o777, 0o600);
      assert.equal(keys.read(state, "web1"), pem);
      assert.deepEqual(readdirSync(join(pkiDir, folder)), ["web1"], "no temporary file stays");
    }
  });

  it("list ids sorted, without dotfiles and names that are not ids", () => {
    const pkiDir = temporary();
    const keys = openKeyDirectories(pkiDir);
    assert.deepEqual(keys.list("accepted"), []);
    for (const id of ["web2", "web10", "Db"]) keys.write("accepted", id, pem);
    for (const name of [".key_cache", ".DS_Store", "bad\\name"]) writeFileSync(join(pkiDir, "minions", name), "");
    assert.deepEqual(keys.list("accepted"), ["Db", "web10", "web2"]);
  });

  it("move and remove, and say whether there was anything", () => {
    const keys = openKeyDirectories(temporary());
    keys.write("pending", "a", pem);
    assert.equal(keys.stateOf("a"), "pending");
    assert.equal(keys.move("a", "pending", "accepted"), true);
    assert.equal(keys.move("a", "pending", "accepted"), false);
    assert.equal(keys.stateOf("a"), "accepted");
    assert.equal(keys.remove("accepted", "a"), true);
    assert.equal(keys.remove("accepted", "a"), false);
    assert.equal(keys.stateOf("a"), undefined);
    assert.equal(keys.read("accepted", "a"), undefined);
  });

  it("never leave the directories, whatever the id", () => {
    const pkiDir = temporary();
    writeFileSync(join(pkiDir, "master.pem"), "secret");
    const keys = openKeyDirectories(pkiDir);
    for (const id of ["../master.pem", "..", "a/../../x", "\0"]) {
      assert.equal(keys.read("accepted", id), undefined);
      assert.equal(keys.remove("accepted", id), false);
      assert.equal(keys.move(id, "accepted", "denied"), false);
      assert.throws(() => keys.write("accepted", id, pem), { code: "STORE_FAILED" });
    }
    assert.deepEqual(readdirSync(pkiDir), ["master.pem"]);
  });

  it("tell one file from another without reading it", () => {
    const pkiDir = temporary();
    const keys = openKeyDirectories(pkiDir);
    assert.equal(keys.stampOf("accepted", "web1"), undefined);
    keys.write("accepted", "web1", pem);
    const stamp = keys.stampOf("accepted", "web1");
    assert.equal(keys.stampOf("accepted", "web1"), stamp);
    keys.write("accepted", "web1", pem);
    assert.notEqual(keys.stampOf("accepted", "web1"), stamp, "another file with the same text");
    mkdirSync(join(pkiDir, "minions", "folder"));
    assert.equal(keys.stampOf("accepted", "folder"), undefined);
    assert.equal(keys.stampOf("accepted", "../minions/web1"), undefined);
  });

  it("count a directory in a key's place as no key, and refuse to write over it", () => {
    const pkiDir = temporary();
    mkdirSync(join(pkiDir, "minions", "web1"), { recursive: true });
    const keys = openKeyDirectories(pkiDir);
    assert.equal(keys.read("accepted", "web1"), undefined);
    assert.throws(() => keys.write("accepted", "web1", pem), { code: "STORE_FAILED" });
    assert.deepEqual(readdirSync(join(pkiDir, "minions")), ["web1"]);
  });
});
