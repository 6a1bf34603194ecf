import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { apiStreamKeptBytesMax } from "../../src/limits.ts";
import { ApiSite } from "./api-site.ts";

let site: ApiSite;

/** Reads a stream until its text matches. */
async function readUntil(reader: ReadableStreamDefaultReader<Uint8Array>, pattern: RegExp): Promise<string> {
  let text = "";
  while (!pattern.test(text)) {
    const { value, done } = await reader.read();
    if (done) throw new Error(`the stream ended after ${text}`);
    text += Buffer.from(value).toString();
  }
  return text;
}

async function open(path: string, headers: Record<string, string> = {}) {
  const answer = await site.fetch(path, { headers });
  const reader = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  return { answer, reader };
}

describe("GET /events", () => {
  afterEach(async () => await site.close());

  it("gives each event as a tag and a line of data, to header, cookie and query", async () => {
    site = await ApiSite.start({});
    const id = await site.login();
    const carriers = [
      ["/events", { "X-Auth-Token": id }],
      ["/events", { Cookie: `session_id=${id}` }],
      [`/events?token=${id}`, {}],
    ] as const;
    const streams = await Promise.all(carriers.map(async ([path, headers]) => await open(path, headers)));
    for (const { answer, reader } of streams) {
      assert.equal(answer.headers.get("content-type"), "text/event-stream;charset=utf-8");
      await readUntil(reader, /^retry: 400\n$/);
    }
    site.master.fire("my/tag", { a: 1, text: "x\ny" });
    for (const { reader } of streams) {
      const text = await readUntil(reader, /\n\n/);
      assert.match(
        text,
        /^tag: my\/tag\ndata: \{"tag": "my\/tag", "data": \{"a": 1, "text": "x\\ny"\}\}\nid: \S+\n\n$/,
      );
    }
    assert.equal(site.api.shared.hub.counters.connections, 1);
    assert.equal((await site.fetch("/events")).status, 401);
    assert.equal((await site.fetch("/events?token=deadbeef")).status, 401);
  });

  it("filters by tag, and goes on after the last event of a reader that comes back", async () => {
    site = await ApiSite.start({});
    const headers = { "X-Auth-Token": await site.login() };
    const first = await open("/events?tag=salt/job/*&tag=b", headers);
    await readUntil(first.reader, /retry/);
    for (const tag of ["a", "salt/job/1/new", "b", "c"]) site.master.fire(tag, {});
    const text = await readUntil(first.reader, /tag: b\n[\s\S]*\n\n/);
    assert.deepEqual(text.match(/tag: .*/g), ["tag: salt/job/1/new", "tag: b"]);
    await first.reader.cancel();
    const last = /id: (.*)\n\n$/.exec(text)?.[1] ?? "";
    site.master.fire("d", {});
    const again = await open("/events", { ...headers, "Last-Event-ID": last });
    const rest = await readUntil(again.reader, /tag: d\n/);
    assert.deepEqual(rest.match(/tag: .*/g), ["tag: c", "tag: d"]);
  });

  it("ends with the session", async () => {
    site = await ApiSite.start({});
    const headers = { "X-Auth-Token": await site.login() };
    const { reader } = await open("/events", headers);
    await readUntil(reader, /retry/);
    await site.fetch("/logout", { method: "POST", headers });
    assert.equal((await reader.read()).done, true);
    while (site.api.admission.slots.counters.underWay !== 0) await turn();
  });

  it("goes on when the master comes back, and tells every reader of the gap", async () => {
    site = await ApiSite.start({});
    const { reader } = await open("/events?tag=again", { "X-Auth-Token": await site.login() });
    await readUntil(reader, /retry/);
    await site.master.reopenBus();
    const gap = await readUntil(reader, /\n\n/);
    assert.match(
      gap,
      /^tag: saltworks\/events\/gap\ndata: {"tag": "saltworks\/events\/gap", "data": {"reason": "master"}}\nid: \S+\n\n$/,
    );
    site.master.fire("again", {});
    assert.match(await readUntil(reader, /\n\n/), /^tag: again\n/);
  });

  it("tells a reader that comes back with an event of an earlier run, and gives it all that this run has seen", async () => {
    site = await ApiSite.start({});
    const headers = { "X-Auth-Token": await site.login() };
    const first = await open("/events", headers);
    await readUntil(first.reader, /retry/);
    site.master.fire("a", {});
    const last = /id: (.*)\n/.exec(await readUntil(first.reader, /\n\n/))?.[1] ?? "";
    await site.restartApi();
    const other = await open("/events", headers);
    site.master.fire("b", {});
    await readUntil(other.reader, /tag: b\n/);
    const again = await open("/events", { ...headers, "Last-Event-ID": last });
    const text = await readUntil(again.reader, /tag: b\n[\s\S]*\n\n/);
    assert.deepEqual(text.match(/tag: .*/g), ["tag: saltworks/events/gap", "tag: b"]);
    assert.match(text, /"reason": "restart"/);
  });

  it("tells a reader that comes back too late that older events are gone", async () => {
    site = await ApiSite.start({});
    const headers = { "X-Auth-Token": await site.login() };
    const first = await open("/events", headers);
    site.master.fire("first", {});
    const last = /id: (.*)\n/.exec(await readUntil(first.reader, /id: .*\n\n/))?.[1] ?? "";
    await first.reader.cancel();
    const large = { text: "x".repeat(1024 * 1024) };
    const count = Math.ceil(apiStreamKeptBytesMax / large.text.length) + 2;
    const { counters } = site.api.shared.hub;
    for (let index = 0; index < count; index += 1) {
      site.master.fire(`n/${index}`, large);
      while (counters.events < index + 2) await turn();
    }
    const again = await open("/events?tag=first", { ...headers, "Last-Event-ID": last });
    const text = await readUntil(again.reader, /gap\n[\s\S]*\n\n/);
    assert.match(text, /"reason": "old"/);
    assert.equal(site.api.streams.counters.gaps, 1);
  });
});

describe("files of the HTTP API", () => {
  afterEach(async () => await site.close());

  it("are served with their types from below their directory, and no other file is", async () => {
    const handlers = {};
    site = await ApiSite.start(handlers);
    const folder = join(site.master.folder, "www");
    mkdirSync(join(folder, "js"), { recursive: true });
    writeFileSync(join(folder, "js", "main.js"), "export {};");
    writeFileSync(join(folder, "index.html"), "<title>page</title>");
    writeFileSync(join(site.master.folder, "secret.txt"), "secret");
    symlinkSync(join(site.master.folder, "secret.txt"), join(folder, "link.txt"));
    const other = await ApiSite.start(handlers, { static: folder, app: join(folder, "index.html") });
    try {
      const file = await other.fetch("/static/js/main.js");
      assert.deepEqual(
        [file.status, file.headers.get("content-type"), await file.text()],
        [200, "text/javascript; charset=utf-8", "export {};"],
      );
      const headers = { "If-None-Match": file.headers.get("etag") ?? "" };
      assert.equal((await other.fetch("/static/js/main.js", { headers })).status, 304);
      const escapes = ["link.txt", "js", "..%2fsecret.txt", "%2e%2e/secret.txt", "js/..%2f..%2fsecret.txt", "a%00b"];
      for (const name of escapes) assert.equal((await other.fetch(`/static/${name}`)).status, 404, name);
      const get = async (path: string, accept: string) =>
        (await other.fetch(path, { headers: { accept } })).headers.get("content-type");
      assert.equal(await get("/", "text/html,application/xhtml+xml,*/*;q=0.8"), "text/html; charset=utf-8");
      assert.equal(await get("/app/x", "text/html"), "text/html; charset=utf-8");
      for (const accept of ["*/*", "application/json, text/plain, */*"])
        assert.equal(await get("/", accept), "application/json");
    } finally {
      await other.close();
    }
  });
});
