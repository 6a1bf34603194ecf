/** Names of static files that lead out of their directory, or that no file can have. */
import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { apiParameterBytesMax } from "../../../src/limits.ts";
import { ApiSite } from "../api-site.ts";
import { exchange, statusesIn } from "./raw-client.ts";

let site: ApiSite;
let folder = "";

/** Sends the path as it is: `fetch` would resolve dots. */
async function get(path: string): Promise<{ readonly status: number; readonly text: string }> {
  const text = await exchange(site.port, `GET ${path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`);
  return { status: statusesIn(text)[0] ?? 0, text };
}

describe("paths of static files", () => {
  before(async () => {
    const other = await ApiSite.start({});
    folder = other.master.folder;
    await other.close();
    const outside = join(folder, "outside");
    const inside = join(folder, "www");
    for (const path of [outside, join(inside, "a")]) mkdirSync(path, { recursive: true });
    for (const path of [join(outside, "secret.txt"), join(folder, "www-secret.txt")]) writeFileSync(path, "secret");
    writeFileSync(join(inside, "a", "page.txt"), "page");
    symlinkSync(outside, join(inside, "linked"));
    symlinkSync(join(outside, "secret.txt"), join(inside, "a", "link.txt"));
    symlinkSync("loop", join(inside, "loop"));
    symlinkSync("/proc/self/environ", join(inside, "environ"));
    site = await ApiSite.start({}, { static: inside }, { netapi_enable_clients: ["local"] });
  });
  after(async () => await site.close());

  it("reach nothing outside, however they are written", async () => {
    const ups = ["..", "%2e%2e", "%2E.", ".%2e", "..%2f..", "%252e%252e", "..%5c..", "..;", "%c0%ae%c0%ae", "a/../.."];
    const paths = [
      ...ups.flatMap((up) => [`${up}/outside/secret.txt`, `a/${up}/${up}/outside/secret.txt`]),
      ...["../www-secret.txt", "%2e%2e/www-secret.txt", "%2f..%2fwww-secret.txt", "-secret.txt"],
      ...["linked/secret.txt", "a/link.txt", "loop", "environ", "a", "", ".", "/etc/passwd", "%2fetc%2fpasswd"],
      ...["a/page.txt%00.png", "%00", "a/page.txt/x", "n".repeat(300), `${"d/".repeat(400)}x`],
    ];
    for (const path of paths) {
      const { status, text } = await get(`/static/${path}`);
      assert.ok([400, 404, 414].includes(status), `${path.slice(0, 60)}: ${status}`);
      assert.doesNotMatch(text, /secret$|root:|PATH=/, path);
      assert.match(text, /\r\n\r\n\{"status": \d+, "return": ".*"\}$/, path);
    }
    assert.deepEqual(site.logged, []);
    const { status, text } = await get("/static/a/page.txt");
    assert.deepEqual([status, text.endsWith("\r\n\r\npage")], [200, true]);
  });

  it("that are longer than any file's are refused unread", async () => {
    for (const length of [apiParameterBytesMax + 1, 5_000, 15_000]) {
      const { status } = await get(`/static/${"n".repeat(length)}`);
      assert.ok([404, 414].includes(status), `${length}: ${status}`);
    }
    const { status, text } = await get(`/static/${"n".repeat(40_000)}`);
    assert.equal(status, 431, text.slice(0, 200));
  });
});
