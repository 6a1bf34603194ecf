import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { pino } from "pino";
import { startApi } from "../../src/api/main.ts";
import { ApiSite } from "./api-site.ts";

let site: ApiSite;

describe("the start of the HTTP API", () => {
  afterEach(async () => await site.close());

  it("says which port is taken, and for an address which is not this machine's", async () => {
    site = await ApiSite.start({});
    const { config } = site.api;
    const start = (block: object) =>
      startApi({ ...config, rest_cherrypy: { ...config.rest_cherrypy, ...block } }, pino({ level: "silent" }));
    const taken = `rest_cherrypy: port: 127.0.0.1:${site.port} is in use by another process (EADDRINUSE)`;
    await assert.rejects(start({ port: site.port }), { code: "PORT_UNUSABLE", message: taken });
    await assert.rejects(start({ host: "192.0.2.1" }), /rest_cherrypy: host: 192\.0\.2\.1 is not an address of this/);
  });

  it("names in the log what of the configuration has no effect", async () => {
    const block = { static: "/nonexistent", app: "/nonexistent/index.html", debug: true };
    site = await ApiSite.start({}, block, { netapi_enable_clients: ["local", "locl", "ssh"] });
    assert.deepEqual(
      site.logged.map((line) => (JSON.parse(line) as { msg: string }).msg),
      [
        "rest_cherrypy: 'debug' has no effect here",
        'netapi_enable_clients: there is no client "locl"',
        'netapi_enable_clients: there is no client "ssh"',
        "rest_cherrypy: app: /nonexistent/index.html is not a file",
        "rest_cherrypy: static: /nonexistent is not a directory",
      ],
    );
  });
});
