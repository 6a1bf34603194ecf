import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ApiClient, ApiError, type Session } from "../../../src/api/dashboard/session/client.ts";
import { readEvents, type StreamedEvent } from "../../../src/api/dashboard/session/event-stream.ts";
import { forgetSession, keepSession, keptSession } from "../../../src/api/dashboard/session/kept-session.ts";
import { wordValue } from "../../../src/python/word.ts";

const session: Session = { token: "t1", user: "ann", eauth: "file", expire: 2_000 };
type Sent = { readonly url: string; readonly body: unknown; readonly token: string | undefined };

/** A client whose requests are answered by `answers`, by path. */
function bed(answers: Readonly<Record<string, () => Response>>, kept: "kept" | "none" = "kept") {
  const sent: Sent[] = [];
  let ends = 0;
  const answer = (url: string, { body, headers }: RequestInit): Response => {
    const token = new Headers(headers).get("X-Auth-Token") ?? undefined;
    sent.push({ url, body: typeof body === "string" ? JSON.parse(body) : undefined, token });
    const found = answers[new URL(url).pathname];
    assert.ok(found, `no answer for ${url}`);
    return found();
  };
  const client = new ApiClient({
    baseUrl: "http://master/api/",
    fetch: async (url, init = {}) => answer(String(url), init),
    session: () => (kept === "kept" ? session : undefined),
    onSessionEnd: () => {
      ends += 1;
    },
  });
  return { client, sent, ends: () => ends };
}

const json =
  (body: unknown, status = 200) =>
  () =>
    new Response(JSON.stringify(body), { status });

describe("the dashboard's client", () => {
  it("logs in below the page's own path, and keeps nothing but the session", async () => {
    const { client, sent } = bed({ "/api/login": json({ return: [{ ...session, perms: [".*"] }] }) }, "none");
    assert.deepEqual(await client.login({ username: "ann", password: "p", eauth: "file" }), session);
    assert.deepEqual(sent, [
      { url: "http://master/api/login", body: { username: "ann", password: "p", eauth: "file" }, token: undefined },
    ]);
  });

  it("sends a wheel call with the token, and gives the function's value", async () => {
    const { client, sent } = bed({ "/api/": json({ return: [{ data: { success: true, return: ["a"] } }] }) });
    assert.deepEqual(await client.wheel("key.accept", { match: "a" }), ["a"]);
    assert.deepEqual(sent, [
      { url: "http://master/api/", body: [{ client: "wheel", fun: "key.accept", kwarg: { match: "a" } }], token: "t1" },
    ]);
  });

  it("leaves a session at an OpenID provider by a form, and asks nothing more", async () => {
    const welcome = { eauth: [], oidc_logout: "https://master/api/logout/oidc", session };
    const { client, sent } = bed({ "/api/login": json(welcome), "/api/": json({ return: [] }) });
    assert.equal((await client.welcome()).session?.endsAtProvider, true);
    assert.equal(client.leave(), "http://master/api/logout/oidc");
    assert.equal(sent.length, 1);
  });

  it("reads with words that stay texts, lists and numbers", async () => {
    const { client, sent } = bed({ "/api/wheel/key.finger": json({ return: [{ a: "f" }] }) });
    const kwargs = { match: "007", ids: ["1", "it's"], limit: 5, tgt: "a#b", all: true };
    assert.deepEqual(await client.read("wheel", "key.finger", kwargs), { a: "f" });
    const [{ url, token } = { url: "", token: "" }] = sent;
    const words = new Map([...new URL(url).searchParams].map(([name, word]) => [name, wordValue(word)]));
    assert.deepEqual([Object.fromEntries(words), token], [kwargs, "t1"]);
  });

  it("sends what a path cannot hold in a body", async () => {
    const { client, sent } = bed({ "/api/": json({ return: [{ data: { success: true, return: 1 } }] }) });
    assert.equal(await client.read("wheel", "saltworks.explain_target", { tgt: "x".repeat(10_000) }), 1);
    assert.equal(sent.length, 1);
  });

  it("reads a list page by page, and controls a batch by the job's own address", async () => {
    const links = (href: string) => ({ next: href === "" ? [] : [{ href }] });
    const answer = (href: string) => json({ return: [{ j1: {} }], _links: links(href) });
    const first = bed({ "/api/jobs": answer("/api/jobs?limit=1&after=j1") });
    assert.deepEqual(await first.client.page("jobs", { limit: "1", fun: "a&b" }), { value: { j1: {} }, next: "j1" });
    assert.equal(first.sent[0]?.url, "http://master/api/jobs?limit=1&fun=a%26b");
    const last = bed({ "/api/jobs": answer("") });
    assert.equal((await last.client.page("jobs", {})).next, undefined);
    const control = bed({ "/api/jobs/2026/pause": json({ return: ["paused"] }) });
    assert.equal(await control.client.controlBatch("pause", "2026"), "paused");
  });

  it("keeps the cookie's session apart from one with a token", async () => {
    const sent: RequestInit[] = [];
    const clientOf = (of: Session | undefined) =>
      new ApiClient({
        baseUrl: "http://master/",
        fetch: async (_url, init = {}) => {
          sent.push(init);
          return json({ return: [{}], eauth: ["file"], oidc_login: "https://x/login/oidc", session: cookie })();
        },
        session: () => of,
        onSessionEnd: () => assert.fail("the session has not ended"),
      });
    const cookie = { user: "ann", eauth: "oidc", expire: 2_000 };
    const welcome = await clientOf(undefined).welcome();
    assert.deepEqual(welcome, { eauth: ["file"], oidcLogin: "https://x/login/oidc", session: cookie });
    for (const of of [cookie, session, undefined]) await clientOf(of).read("runner", "jobs.batches");
    assert.deepEqual(
      sent.map(({ credentials, headers }) => [credentials, new Headers(headers).get("X-Auth-Token")]),
      [
        ["same-origin", null],
        ["same-origin", null],
        ["omit", "t1"],
        ["omit", null],
      ],
    );
  });

  it("fails with the words of a function that fails", async () => {
    const wheel = bed({ "/api/": json({ return: [{ data: { success: false, return: "no such key" } }] }) });
    await assert.rejects(wheel.client.wheel("key.accept"), { message: "no such key" });
    const failed = json({ status: 400, return: "Exception occurred in runner" }, 400);
    const runner = bed({ "/api/runner/jobs.status": failed });
    await assert.rejects(runner.client.read("runner", "jobs.status"), { message: "Exception occurred in runner" });
  });

  it("tells a refused function from an ended session, both of which are 401", async () => {
    const refused = bed({ "/api/": json({ status: 401, return: "Not permitted" }, 401), "/api/stats": json({}) });
    await assert.rejects(refused.client.wheel("key.list_all"), (error) => {
      return error instanceof ApiError && error.status === 401 && /no permission.*: Not permitted$/.test(error.message);
    });
    assert.equal(refused.ends(), 0);
    const ended = bed({ "/api/": json({}, 401), "/api/stats": json({}, 401) });
    await assert.rejects(ended.client.wheel("key.list_all"), { message: "The session has ended." });
    assert.equal(ended.ends(), 1);
  });

  it("says that the API does not answer", async () => {
    const failing = () => {
      throw new TypeError("fetch failed");
    };
    await assert.rejects(bed({ "/api/": failing }).client.wheel("key.list_all"), /does not answer/);
  });

  it("finds its new batch among all batches, long before the answer", async () => {
    const command = { tgt: "*", tgt_type: "glob", fun: "test.ping", arg: [] };
    const other = { Function: "test.ping", Target: "*", User: "ann", Batch: "2" };
    const lists = [{ j1: other }, { j1: other, j2: { ...other, User: "eve" } }, { j1: other, j3: other }];
    const answers = (method: string | undefined) =>
      method === "POST" ? new Promise<Response>(() => undefined) : json({ return: [lists.shift()] })();
    const client = new ApiClient({
      baseUrl: "http://master/",
      fetch: async (_url, init) => await answers(init?.method),
      session: () => session,
      onSessionEnd: () => assert.fail("the session has not ended"),
    });
    assert.equal(await client.startBatch(command, "2"), "j3");
    assert.equal(lists.length, 0);
  });

  it("knows a target that matches no minion", async () => {
    const command = { tgt: "x", tgt_type: "glob", fun: "test.ping", arg: [] };
    assert.equal(await bed({ "/api/": json({ return: [{}] }) }).client.start(command), undefined);
    const { client } = bed({ "/api/": json({ return: [{ jid: "2026", minions: ["a"] }] }) });
    assert.deepEqual(await client.start(command), { jid: "2026" });
  });
});

describe("the stream of events", () => {
  it("is read across any cut of its bytes, without heartbeats and other fields", async () => {
    const text = `retry: 400\ntag: a/é\ndata: {"tag": "a/é", "data": {"n": 1}}\n\n: ping\n\nid: 7\ndata: {"tag":"b","data":{}}\n\n`;
    const bytes = Buffer.from(text);
    for (const size of [1, 7, bytes.length]) {
      const parts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
        bytes.subarray(index * size, (index + 1) * size),
      );
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          for (const part of parts) controller.enqueue(new Uint8Array(part));
          controller.close();
        },
      });
      const events: StreamedEvent[] = [];
      await readEvents(body, (event) => events.push(event));
      assert.deepEqual(events, [
        { tag: "a/é", data: { n: 1 } },
        { tag: "b", data: {} },
      ]);
    }
  });
});

describe("the kept session", () => {
  it("lasts until its end or the logout", () => {
    const items = new Map<string, string>();
    const storage = {
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string) => void items.set(key, value),
      removeItem: (key: string) => void items.delete(key),
    };
    keepSession(storage, session);
    assert.deepEqual(keptSession(storage, 1_999), session);
    assert.equal(keptSession(storage, 2_000), undefined);
    forgetSession(storage);
    assert.equal(keptSession(storage, 0), undefined);
  });
});
