import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { readBody } from "../../../src/api/http/bodies.ts";
import {
  apiBodyBytesMax,
  apiBodyCollectionsMax,
  apiBodyNamesMax,
  apiBodyValuesMax,
  apiChunksMax,
  apiFormValuesMax,
  apiYamlBodyBytesMax,
} from "../../../src/limits.ts";
import { loadJson } from "../../../src/python/json.ts";
import { plain } from "../../plain.ts";
import { ApiSite } from "../api-site.ts";

let site: ApiSite;
const json = "application/json";
const yaml = "application/x-yaml";
const form = "application/x-www-form-urlencoded";

async function post(path: string, body: string | Buffer, type: string, id = "") {
  const answer = await site.fetch(path, {
    method: "POST",
    headers: { "content-type": type, "X-Auth-Token": id },
    body,
  });
  const text = await answer.text();
  return { status: answer.status, text, shown: JSON.parse(text) as { readonly status?: number } };
}

/** Nine lists, each with nine times the one before. */
function bomb(): string {
  const names = [..."abcdefghi"];
  const lines = names.map((name, index) => {
    const item = index === 0 ? "x" : `*${names[index - 1]}`;
    return `${name}: &${name} [${Array(9).fill(item).join(",")}]`;
  });
  return lines.join("\n");
}

describe("the parsers of bodies", () => {
  // Each of these takes milliseconds in linear time, and hours in quadratic or exponential time.
  it("take linear time for quotes, keys, aliases and merges", () => {
    const quotes = Buffer.from(`"${'\\"'.repeat(apiBodyBytesMax / 2 - 1)}`);
    assert.throws(() => readBody({ type: json, bytes: quotes }), { status: 400 });
    const size = apiYamlBodyBytesMax;
    const refused = [
      `"${'\\"'.repeat(size / 2 - 2)}x`,
      `a: &a x\nb: [${"*a,".repeat(size / 3 - 10)}]`,
      `a: &a {x: 1}\nb:\n${"  <<: *a\n".repeat(5_000)}`,
      bomb(),
      "a: &a [*a]",
      "&a {b: *a}",
      "a: &a\n  b: [1, {c: *a}]",
    ];
    for (const text of refused)
      assert.throws(() => readBody({ type: yaml, bytes: Buffer.from(text) }), { status: 400 }, text.slice(0, 40));
    const keys = Array.from({ length: 5_000 }, (_, index) => `k${index}: 1`).join("\n");
    assert.equal((readBody({ type: yaml, bytes: Buffer.from(keys) }) as Map<string, number>).size, 5_000);
    const values = Array.from({ length: apiFormValuesMax + 1 }, (_, index) => `k${index}=1`).join("&");
    assert.throws(() => readBody({ type: form, bytes: Buffer.from(values) }), { status: 400 });
  });

  it("read texts, numbers and a few aliases as before", () => {
    const text = '{"a\\"1": "2\\\\", "b": [-1.50, 1.5e3, "\\\\\\"3", 12345678901234567890], "": "NaN"}';
    assert.equal(
      JSON.stringify(plain(loadJson(text) as never), (_, value) => (typeof value === "bigint" ? `${value}n` : value)),
      '{"a\\"1":"2\\\\","b":[-1.5,{"value":1500},"\\\\\\"3","12345678901234567890n"],"":"NaN"}',
    );
    const read = readBody({ type: yaml, bytes: Buffer.from("a: &a {x: 1}\nb: {<<: *a, y: 2}\nc: *a") });
    assert.deepEqual(plain(read as never), { a: { x: 1 }, b: { x: 1, y: 2 }, c: { x: 1 } });
  });
});

describe("hostile bodies", () => {
  afterEach(async () => await site.close());

  it("get one error in JSON without a trace of our files, and log nothing", async () => {
    site = await ApiSite.start({}, {}, { netapi_enable_clients: ["local"] });
    const id = await site.login();
    const cases = [
      ['{"a": ', json, 400],
      ["\u0000", json, 400],
      [Buffer.from([0xff, 0xfe, 0x7b]), json, 400],
      ["1", json, 400],
      ['"text"', json, 400],
      ["null", json, 400],
      ["[".repeat(65), json, 400],
      ["[[1]]", json, 400],
      ["a: !!python/object/apply:os.system [id]", yaml, 400],
      ["a: !!js/function 'x'", yaml, 400],
      [bomb(), yaml, 400],
      ["? ".repeat(5_000), yaml, 400],
      ["a: 1\n--- \nb: 2", yaml, 400],
      [`a: ${"1".repeat(apiYamlBodyBytesMax)}`, yaml, 413],
      [" ".repeat(apiBodyBytesMax + 1), json, 413],
      [JSON.stringify(Array(apiChunksMax + 1).fill({ client: "local", tgt: "*", fun: "test.ping" })), json, 400],
      [`[${"1,".repeat(apiBodyValuesMax)}1]`, json, 413],
      [`[${"{},".repeat(apiBodyCollectionsMax)}{}]`, json, 413],
      [`{${'"a":1,'.repeat(apiBodyNamesMax)}"a":1}`, json, 413],
      ["arg=[[[&client=local", form, 400],
      [`arg=${"1".repeat(apiYamlBodyBytesMax / 2)}&arg=${"1".repeat(apiYamlBodyBytesMax / 2)}&kwarg=1`, form, 413],
      ["x", "multipart/form-data; boundary=x", 406],
      ["x", "application/json/../x", 406],
    ] as const;
    for (const [body, type, status] of cases) {
      const answer = await post("/", body, type, id);
      const name = `${type} ${body.slice(0, 30)}`;
      assert.deepEqual([answer.status, answer.shown.status], [status, status], name);
      assert.ok(!/node_modules|\.[jt]s\b|\n *at /.test(answer.text), name);
    }
    assert.deepEqual(site.logged, []);
    assert.deepEqual(
      site.master.requests.filter((load) => load.get("cmd") !== "mk_token"),
      [],
    );
  });

  it("have bounds for named arguments in texts, all of a call together", async () => {
    const runner = () => ({ tag: "salt/run/1", data: { jid: "1", fun: "test.arg", return: true, success: true } });
    site = await ApiSite.start({ runner }, {}, { netapi_enable_clients: ["runner", "runner_async"] });
    const id = await site.login();
    const half = "x".repeat(apiYamlBodyBytesMax / 2);
    for (const client of ["runner", "runner_async"]) {
      const chunk = { client, fun: "test.arg", arg: [`a=${half}`, `b=${half}`, `${half}${half}`] };
      assert.equal((await post("/", JSON.stringify(chunk), json, id)).status, 200);
      const refused = await post("/", JSON.stringify({ ...chunk, arg: [`a=${half}`, `b=${half}`, "c=1"] }), json, id);
      assert.equal(refused.status, 413);
      assert.match(refused.text, new RegExp(`${apiYamlBodyBytesMax} bytes`));
    }
  });

  it("of strangers may be small only, and are not parsed for commands without a session", async () => {
    site = await ApiSite.start({});
    assert.equal((await post("/", "{", json)).status, 401);
    assert.equal((await post("/login", `{"username": "${"a".repeat(17_000)}"}`, json)).status, 413);
    assert.equal((await post("/run", " ".repeat(300_000), json)).status, 413);
    assert.ok(site.api.admission.bodies.counters.tooLarge >= 2);
  });

  it("name members as any others that JavaScript gives a meaning", async () => {
    const runner = (load: { get(name: string): unknown }) => ({
      tag: "salt/run/1",
      data: { jid: "1", fun: load.get("fun") as string, return: load.get("kwarg") as never, success: true },
    });
    site = await ApiSite.start({ runner }, {}, { netapi_enable_clients: ["runner"] });
    const id = await site.login();
    const text =
      '{"client": "runner", "fun": "test.arg", "__proto__": {"polluted": 1}, "constructor": 2, "toString": 3}';
    const answer = await post("/", text, json, id);
    assert.equal(answer.status, 200);
    assert.match(answer.text, /"__proto__": \{"polluted": 1\}, "constructor": 2, "toString": 3/);
    assert.equal(({} as Record<string, unknown>).polluted, undefined);
    const asForm = "client=runner&fun=test.arg&__proto__=1&__proto__=2&hasOwnProperty=3";
    assert.match((await post("/", asForm, form, id)).text, /"__proto__": \["1", "2"\], "hasOwnProperty": "3"/);
    for (const login of ['{"__proto__": {"username": "ann", "password": "right", "eauth": "auto"}}', "__proto__=1"])
      assert.equal((await post("/login", login, login.startsWith("{") ? json : form)).status, 401);
  });
});
