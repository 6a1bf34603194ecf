/** Our master with its HTTP API, as the master itself starts it, and minions behind it. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EventWatch } from "../event-watch.ts";
import { type Maker, MasterUnderTest, MinionUnderTest, type TestBed } from "../test-bed.ts";
import { pageWaitMs } from "./watched-page.ts";

export const password = "what-browsers-send-1";
const startTimeoutMs = 60_000;

export type ApiSite = { readonly master: MasterUnderTest; readonly events: EventWatch; readonly url: string };
type Options = Readonly<Record<string, unknown>>;

/** `grants`: the users of eauth `file`, all with the same password. `accepted`: ids whose keys the master accepts at once. */
export async function startSite(
  bed: TestBed,
  grants: Options,
  accepted: readonly string[],
  { rest_cherrypy: rest, ...options }: Options & { readonly rest_cherrypy?: Options } = {},
): Promise<ApiSite> {
  const users = join(bed.folder, "users");
  writeFileSync(
    users,
    Object.keys(grants)
      .map((user) => `${user}:${password}\n`)
      .join(""),
  );
  const master = await MasterUnderTest.create(bed, "ours", {
    autosign_file: "/autosign",
    external_auth: { file: { "^filename": users, ...grants } },
    netapi_enable_clients: ["local", "local_async", "local_batch", "runner", "wheel"],
    rest_cherrypy: { port: 0, host: "127.0.0.1", disable_ssl: true, ...rest },
    ...options,
  });
  // Below `root_dir`.
  writeFileSync(join(bed.folder, "master", "autosign"), accepted.map((id) => `${id}\n`).join(""), { mode: 0o600 });
  await master.start();
  const events = await bed.watchEvents(master.sockDir);
  const line = await master.program.untilLine(/the HTTP API is ready/, startTimeoutMs);
  const port = /"?port"?\D{1,3}(\d+)/.exec(line)?.[1];
  if (port === undefined) throw new Error(`the API named no port: ${line}`);
  return { master, events, url: `http://127.0.0.1:${port}/` };
}

/** Starts a minion whose key the master accepts at once; resolves when it is connected. */
export async function startMinion(
  { master, events }: ApiSite,
  maker: Maker,
  id: string,
  options: Options = {},
): Promise<MinionUnderTest> {
  const minion = new MinionUnderTest(master, maker, id, options);
  await events.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
  return minion;
}

/** Starts a minion of ours whose key is not accepted; resolves when its key waits. */
export async function startStranger({ master, events }: ApiSite, id: string): Promise<void> {
  new MinionUnderTest(master, "ours", id);
  await events.until(`the key of ${id}`, ({ tag, data }) => tag === "salt/auth" && data.get("id") === id, pageWaitMs);
}
