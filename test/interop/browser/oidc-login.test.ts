/** The login at an OpenID provider in headless Chromium: a certified provider, a real master, its API and its dashboard. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { after, before, describe } from "node:test";
// @ts-expect-error the package has no types
import Provider from "oidc-provider";
import { freePort } from "../../../bench/free-ports.ts";
import type { TestBed } from "../test-bed.ts";
import { type ApiSite, startMinion, startSite } from "./api-site.ts";
import { browserBed } from "./browser-bed.ts";
import { skipsBrowser, type WatchedPage } from "./watched-page.ts";

const secret = "what-the-provider-and-the-master-know";

/** Its own pages ask for a name and take any password. `ann` is of the group `ops`. */
async function startProvider(redirectUri: string): Promise<{ readonly issuer: string; readonly server: Server }> {
  const port = await freePort();
  const issuer = `http://127.0.0.1:${port}`;
  const findAccount = (_context: unknown, accountId: string) => ({
    accountId,
    claims: () => ({ sub: accountId, preferred_username: accountId, groups: accountId === "ann" ? ["ops"] : [] }),
  });
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: "salt",
        client_secret: secret,
        redirect_uris: [redirectUri],
        post_logout_redirect_uris: [new URL("/", redirectUri).href],
      },
    ],
    claims: { openid: ["sub"], profile: ["preferred_username", "groups"] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    cookies: { keys: ["of this test alone"] },
    findAccount,
  });
  const server: Server = await new Promise((resolve) => {
    const started = provider.listen(port, "127.0.0.1", () => resolve(started));
  });
  assert.equal((server.address() as AddressInfo).port, port);
  return { issuer, server };
}

let provider: Server;

async function start(bed: TestBed): Promise<ApiSite> {
  const port = await freePort();
  const redirectUri = `http://127.0.0.1:${port}/login/oidc/callback`;
  const { issuer, server } = await startProvider(redirectUri);
  provider = server;
  const oidc = {
    "^issuer": issuer,
    "^client_id": "salt",
    "^client_secret": secret,
    "^redirect_uri": redirectUri,
    "^provider_logout": true,
    "ops%": [".*", "@wheel", "@runner", "@jobs"],
  };
  const site = await startSite(bed, {}, ["web1"], {
    external_auth: { oidc },
    audit_log: "/audit",
    rest_cherrypy: { port },
  });
  await startMinion(site, "ours", "web1");
  return site;
}

describe("the login at an OpenID provider in a browser", { skip: skipsBrowser }, () => {
  const bed = browserBed(start);
  let site: ApiSite;
  before(() => {
    ({ site } = bed);
  });
  after(() => {
    provider?.closeAllConnections();
    provider?.close();
  });

  /** From the dashboard to the provider's page for names. */
  async function goToProvider(watched: WatchedPage): Promise<void> {
    await watched.page.getByRole("link", { name: "Log in with OpenID" }).click();
    await watched.page.locator("input[name=login]").waitFor();
  }
  async function logInAs(watched: WatchedPage, user: string): Promise<void> {
    const { page } = watched;
    await page.locator("input[name=login]").fill(user);
    await page.locator("input[name=password]").fill("any");
    await page.locator("button[type=submit]").click();
    // The provider asks whether the user trusts this client.
    await page.getByRole("button", { name: "Continue" }).click();
  }
  /** Statuses of our own answers that are errors. */
  function failuresOf({ page }: WatchedPage): number[] {
    const failed: number[] = [];
    page.on("response", (answer) => {
      if (answer.url().startsWith(site.url) && answer.status() >= 400) failed.push(answer.status());
    });
    return failed;
  }
  /** The provider's own pages load a font from elsewhere, and have no icon. */
  function assertQuiet({ complaints }: WatchedPage, failed: readonly number[], expected: readonly number[]): void {
    const ours = complaints.filter((text) => !text.startsWith("Failed to load resource"));
    assert.deepEqual([ours, failed], [[], expected]);
  }
  const audit = () =>
    readFileSync(join(bed.folder, "master", "audit"), "utf8")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line));

  bed.it(
    "opens a session that works, survives a reload and ends with the logout, here and at the provider",
    async () => {
      const watched = await bed.open();
      const { page } = watched;
      const failed = failuresOf(watched);
      assert.equal(await page.getByLabel("Password").count(), 0);
      await goToProvider(watched);
      await logInAs(watched, "ann");
      await page.locator(".row", { hasText: "web1" }).waitFor();
      assert.equal(new URL(page.url()).origin + new URL(page.url()).pathname, site.url);
      assert.doesNotMatch(page.url(), /code=|state=/);
      const [login] = audit().filter(({ event }) => event === "login");
      const { outcome, user, eauth, address, via } = login;
      assert.deepEqual([outcome, user, eauth, address, via], ["authentic", "ann", "oidc", "127.0.0.1", "http"]);
      // The session is in a cookie that no script reads.
      assert.equal(
        await watched.run("document.cookie + JSON.stringify({...sessionStorage})"),
        '{"saltworks.eauth":"oidc"}',
      );
      const [session] = (await watched.context.cookies(site.url)).filter(({ name }) => name === "session_id");
      assert.deepEqual([session?.httpOnly, session?.sameSite], [true, "Lax"]);
      await page.reload();
      await page.locator(".row", { hasText: "web1" }).waitFor();
      await page.getByRole("link", { name: "Events" }).click();
      await page.getByRole("link", { name: "Instruments" }).click();
      await page.locator(".plot canvas").first().waitFor();
      await page.getByRole("button", { name: "Log out" }).click();
      // The provider asks, and knows by the ID token where the browser comes from.
      const yes = page.getByRole("button", { name: "Yes, sign me out" });
      await yes.waitFor();
      await watched.shoot("oidc-logout");
      await yes.click();
      await page.getByRole("link", { name: "Log in with OpenID" }).waitFor();
      assert.equal(page.url(), site.url);
      const stats = await page.request.get(`${site.url}stats`, { headers: { Cookie: `session_id=${session?.value}` } });
      assert.equal(stats.status(), 401);
      await page.reload();
      await page.getByRole("link", { name: "Log in with OpenID" }).waitFor();
      assertQuiet(watched, failed, []);
      // The provider has forgotten the login: it asks for a name again.
      await goToProvider(watched);
      await watched.context.close();
    },
  );

  bed.it("gives a user of no group no more than the master grants", async () => {
    const watched = await bed.open();
    await goToProvider(watched);
    await logInAs(watched, "bob");
    await watched.page.getByRole("alert").filter({ hasText: "This user has no permission for that." }).waitFor();
    await watched.context.close();
  });

  for (const [colorScheme, width] of [
    ["light", 1_280],
    ["dark", 400],
  ] as const)
    bed.it(`says what happened to a user who gave up, ${colorScheme}, ${width} pixels wide`, async () => {
      const watched = await bed.open({ colorScheme, width });
      const { page } = watched;
      const failed = failuresOf(watched);
      await page.getByRole("link", { name: "Log in with OpenID" }).waitFor();
      const faults = await watched.violations();
      await watched.shoot(`oidc-login-${colorScheme}-${width}`);
      await goToProvider(watched);
      await page.getByRole("link", { name: "Cancel" }).click();
      await page.getByRole("alert").filter({ hasText: "The OpenID provider refused the login." }).waitFor();
      await watched.shoot(`oidc-refused-${colorScheme}-${width}`);
      assert.deepEqual([...faults, ...(await watched.violations())], []);
      assert.equal(await watched.overflow(), 0);
      await page.getByRole("link", { name: "Back to the login" }).click();
      await page.getByRole("link", { name: "Log in with OpenID" }).waitFor();
      assertQuiet(watched, failed, [401]);
      await watched.context.close();
    });
});
