import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { ApiSite } from "../api-site.ts";

const browser = { accept: "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8" };
let site: ApiSite;

describe("the dashboard's pages", () => {
  afterEach(async () => await site.close());

  it("are at the root for a browser, and the API for all others", async () => {
    site = await ApiSite.start({});
    const page = await site.fetch("/", { headers: browser });
    assert.equal(page.headers.get("content-type"), "text/html; charset=utf-8");
    assert.match(await page.text(), /dashboard\/main\.js/);
    for (const accept of ["*/*", "application/json", "application/json, text/plain, */*", "text/*"]) {
      const api = await site.fetch("/", { headers: { accept } });
      assert.notEqual(api.headers.get("content-type"), "text/html; charset=utf-8", accept);
    }
  });

  it("come with a policy that allows only this server's files, and no inline code", async () => {
    site = await ApiSite.start({});
    for (const path of ["/", "/dashboard/main.js", "/dashboard/styles.css", "/dashboard/icon.svg"]) {
      const { status, headers } = await site.fetch(path, { headers: browser });
      assert.equal(status, 200, path);
      const policy = headers.get("content-security-policy") ?? "";
      assert.match(policy, /default-src 'none'.*script-src 'self'.*style-src 'self'/, path);
      assert.doesNotMatch(policy, /unsafe|\*/, path);
    }
    const text = await (await site.fetch("/", { headers: browser })).text();
    assert.doesNotMatch(text, /<style|<script(?![^>]*src=)|\son\w+=|style=/);
  });

  it("are not sent again while they are the same", async () => {
    site = await ApiSite.start({});
    const first = await site.fetch("/dashboard/main.js");
    const etag = first.headers.get("etag") ?? "";
    const again = await site.fetch("/dashboard/main.js", { headers: { "if-none-match": etag } });
    assert.deepEqual([first.status, again.status, await again.text()], [200, 304, ""]);
  });

  it("are nothing but the build's files", async () => {
    site = await ApiSite.start({});
    for (const name of ["package.json", "..%2f..%2fpackage.json", "%2e%2e/scripts/docs.js", "main.js.map"]) {
      const answer = await site.fetch(`/dashboard/${name}`, { headers: browser });
      assert.equal(answer.status, 404, name);
    }
  });

  it("are below root_prefix, at an address with a slash", async () => {
    site = await ApiSite.start({}, { root_prefix: "/salt" });
    const moved = await site.fetch("/salt", { headers: browser, redirect: "manual" });
    assert.deepEqual([moved.status, moved.headers.get("location")], [308, "salt/"]);
    assert.equal((await site.fetch("/salt/", { headers: browser })).status, 200);
    assert.equal((await site.fetch("/salt/dashboard/main.js", { headers: browser })).status, 200);
  });

  it("are not served where another app is configured", async () => {
    site = await ApiSite.start({}, { app: "/srv/app/index.html" });
    const page = await site.fetch("/", { headers: browser });
    assert.notEqual(page.headers.get("content-type"), "text/html; charset=utf-8");
    assert.equal((await site.fetch("/dashboard/main.js")).status, 404);
  });
});
