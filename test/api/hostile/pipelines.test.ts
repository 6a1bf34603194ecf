import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { apiRequestsOfAddressMax } from "../../../src/limits.ts";
import { ApiSite } from "../api-site.ts";
import { loginUntil } from "./hanging-login.ts";
import { open } from "./raw-client.ts";

let site: ApiSite;
const right = JSON.stringify({ username: "ann", password: "right", eauth: "auto" });
const login = `POST /login HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${right.length}\r\n\r\n${right}`;

/** A site whose logins hang once it is told so. */
async function startHanging(): Promise<{ readonly id: string }> {
  let isHanging = false;
  site = await ApiSite.start({
    mk_token: loginUntil(() => isHanging),
  });
  const id = await site.login();
  isHanging = true;
  return { id };
}

describe("requests that wait behind others of their connection", () => {
  afterEach(async () => await site.close());

  it("give back their places and bytes when the connection is reset", { timeout: 20_000 }, async () => {
    await startHanging();
    const { slots, bodies } = site.api.admission;
    const client = await open(site.port);
    client.write(login.repeat(apiRequestsOfAddressMax));
    while (slots.counters.underWay < apiRequestsOfAddressMax) await turn();
    client.resetAndDestroy();
    while (slots.counters.underWay > 0) await turn();
    assert.deepEqual([slots.counters.ofStrangers, bodies.counters.heldBytes], [0, 0]);
    assert.equal((await site.fetch("/login")).status, 200);
  });

  it("leave no reader of events behind when the connection is reset", { timeout: 20_000 }, async () => {
    const { id } = await startHanging();
    const client = await open(site.port);
    client.write(`${login}GET /events HTTP/1.1\r\nHost: a\r\nX-Auth-Token: ${id}\r\n\r\n`);
    while (site.api.streams.count < 1) await turn();
    client.resetAndDestroy();
    while (site.api.streams.count > 0) await turn();
    assert.equal(site.api.streams.counters.opened, 1);
  });
});
