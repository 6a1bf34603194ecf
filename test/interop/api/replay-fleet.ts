/** The fleet on which the HTTP exchanges were recorded, with our master and API: two stock minions, and a key that waits. */
import { mkdirSync, writeFileSync } from "node:fs";
import { request as send } from "node:http";
import { join } from "node:path";
import { freePort } from "../../../bench/free-ports.ts";
import type { EventWatch } from "../event-watch.ts";
import { Operator } from "../operator.ts";
import type { SaltRelease } from "../salt-releases.ts";
import { MasterUnderTest, MinionUnderTest, type TestBed } from "../test-bed.ts";
import type { Headers } from "./recorded.ts";

const startTimeoutMs = 60_000;

const viewer = [
  ..."beacons.list grains.items pillar.items pillar.obfuscate schedule.list".split(" "),
  { "@runner": ["jobs.active", "jobs.list_job", "jobs.list_jobs", "manage.versions"] },
  { "@wheel": ["config.values", "key.finger", "key.list_all", "minions.connected"] },
];
const all = [".*", "@runner", "@wheel", "@jobs"];
/** `gina` and `greg` have by name what they had by the groups of a made-up backend. `shorty` may ask for short tokens. */
const grants = {
  admin: all,
  shorty: all,
  viewer,
  limited: [{ m1: ["test.ping", "status.*"] }, { "G@id:m2": ["test.version"] }],
  argsy: [
    { "*": [{ "test.echo": { args: ["ok.*"] } }, { "test.arg": { kwargs: { mode: "safe" } } }] },
    { "@runner": ["test.arg"] },
  ],
  jobsonly: ["@jobs"],
  gina: ["test.*", "test.ping", { m1: ["grains.item"] }],
  greg: ["test.ping", { m1: ["grains.item"] }],
};
const users = [...Object.keys(grants), "nobody"];

const states = {
  top: "base:\n  '*': [basic]\n",
  basic: `first_ok:
  test.succeed_without_changes: []
second_change:
  test.succeed_with_changes: []
`,
  orch: `ping_all:
  salt.function:
    - name: test.ping
    - tgt: '*'
apply_basic:
  salt.state:
    - tgt: m1
    - sls: basic
    - require:
      - salt: ping_all
`,
  broken: `bad_one:
  test.fail_without_changes: []
after_bad:
  test.succeed_without_changes:
    - require:
      - test: bad_one
`,
};
/** A state that the jobs of SaltGUI's pages did not have. */
const marker = `marker:
  file.managed:
    - name: MARKER/marker-{{ grains.id }}
    - contents: x
`;
const pillar = { top: "base:\n  '*': [all]\n", all: "pub_color: green\ndb: {user: app, password: not-a-secret}\n" };

const minionOptions = {
  mine_functions: { "test.ping": [], "grains.item": ["os"] },
  beacons: {
    memusage: [{ percent: "99%" }, { interval: 600 }],
    load: [{ disable_during_state_run: true }, { averages: { "1m": [0, 90] } }, { interval: 300 }],
  },
  schedule: {
    nightly: { function: "test.ping", hours: 12, maxrunning: 1 },
    weekly: { function: "state.apply", args: ["basic"], seconds: 604_800, enabled: false },
  },
};
export const allClients = "local local_async local_batch local_subset runner runner_async ssh wheel wheel_async".split(
  " ",
);

export type Asked = {
  readonly method: string;
  readonly path: string;
  readonly headers?: Headers;
  readonly body?: string | undefined;
};
export type Answer = {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
};

export class ReplayFleet {
  readonly bed: TestBed;
  readonly master: MasterUnderTest;
  readonly events: EventWatch;
  readonly minions: readonly MinionUnderTest[];
  /** Ports of APIs: `main` is the master's own; the others have settings of their own. */
  readonly ports: ReadonlyMap<string, number>;
  #isFrozen = false;

  private constructor(
    bed: TestBed,
    master: MasterUnderTest,
    events: EventWatch,
    minions: readonly MinionUnderTest[],
    ports: ReadonlyMap<string, number>,
  ) {
    this.bed = bed;
    this.master = master;
    this.events = events;
    this.minions = minions;
    this.ports = ports;
  }

  /** `onApi` is called with the API's port and a session, before the first minion starts. */
  static async start(
    bed: TestBed,
    release: SaltRelease,
    onApi: (port: number, id: string) => Promise<void>,
  ): Promise<ReplayFleet> {
    const options = masterOptions(bed);
    const main = await freePort();
    const block = { port: main, host: "127.0.0.1", disable_ssl: true, collect_stats: true };
    const page = { app: join(bed.folder, "www", "index.html"), static: join(bed.folder, "www") };
    const master = await MasterUnderTest.create(bed, "ours", { ...options, rest_cherrypy: { ...block, ...page } });
    const waiting = join(master.pkiDir, "minions_pre");
    mkdirSync(waiting, { recursive: true });
    writeFileSync(join(waiting, "m3"), publicKey);
    await master.start();
    await master.program.untilLine(/HTTP API is ready/, startTimeoutMs);
    const events = await bed.watchEvents(master.sockDir);
    const ports = new Map([["main", main]]);
    for (const [name, more, clients] of [
      ["nosess", { enable_sessions: false, webhook_disable_auth: true }, ["local"]],
      ["acl", { api_acl: { users: { admin: ["*"] } } }, allClients],
    ] as const) {
      const port = await freePort();
      ports.set(name, port);
      const rest = { rest_cherrypy: { ...block, ...more, port }, netapi_enable_clients: clients };
      await bed.startApi(name, master, { ...options, ...rest }).untilLine(/HTTP API is ready/, startTimeoutMs);
    }
    const early = new ReplayFleet(bed, master, events, [], ports);
    await onApi(main, await early.login("admin"));
    const minions = ["m1", "m2"].map((id, index) => {
      const own = { ...minionOptions, grains: { role: `role${index + 1}` } };
      return new MinionUnderTest(master, release, id, own);
    });
    const operator = new Operator("ours", master);
    for (const { id } of minions) {
      await events.until(
        `key of ${id}`,
        ({ tag, data }) => tag === "salt/auth" && data.get("id") === id,
        startTimeoutMs,
      );
      await operator.run("key", ["-y", "-a", id]);
    }
    for (const { id } of minions)
      await events.until(`${id} start`, ({ tag }) => tag === `salt/minion/${id}/start`, startTimeoutMs);
    return new ReplayFleet(bed, master, events, minions, ports);
  }

  portOf(site: string): number {
    return this.ports.get(site) ?? 0;
  }

  /** A request without headers but those given. */
  ask(site: string, { method, path, headers = {}, body }: Asked): Promise<Answer> {
    const port = this.ports.get(site);
    const length = body === undefined ? {} : { "Content-Length": String(Buffer.byteLength(body)) };
    return new Promise((resolve, reject) => {
      const options = { host: "127.0.0.1", port, method, path, headers: { ...headers, ...length }, agent: false };
      const asked = send(options, (response) => {
        const parts: Buffer[] = [];
        response.on("data", (part: Buffer) => parts.push(part));
        response.on("error", reject);
        response.on("end", () => {
          const own = Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [name, [value].flat().join(", ")]),
          );
          const { statusCode: status = 0, statusMessage: reason = "" } = response;
          resolve({ status, reason, headers: own, text: Buffer.concat(parts).toString("latin1") });
        });
      });
      asked.on("error", reject);
      asked.end(body);
    });
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  dropMarker(): void {
    writeFileSync(join(this.bed.folder, "states", "basic.sls"), states.basic);
  }

  /** Stops a minion's process: its connections stay open. */
  freeze(id: string): void {
    const minion = this.minions.find((one) => one.id === id);
    this.#isFrozen = true;
    if (minion !== undefined) process.kill(-minion.program.pid, "SIGSTOP");
  }

  /** The session's id of a login. */
  async login(user: string, more: object = {}, site = "main"): Promise<string> {
    const body = JSON.stringify({ username: user, password: `${user}-pw`, eauth: "file", ...more });
    const headers = { "Content-Type": "application/json" };
    const answer = await this.ask(site, { method: "POST", path: "/login", headers, body });
    const id = answer.headers["x-auth-token"];
    if (id === undefined) throw new Error(`${user} could not log in: ${answer.status} ${answer.text}`);
    return id;
  }
}

function masterOptions(bed: TestBed) {
  const write = (folder: string, files: Readonly<Record<string, string>>, ending = ".sls") => {
    mkdirSync(join(bed.folder, folder), { recursive: true });
    for (const [name, text] of Object.entries(files))
      writeFileSync(join(bed.folder, folder, name + ending), text.replaceAll("MARKER", bed.folder));
    return join(bed.folder, folder);
  };
  const page = "<!doctype html><title>SaltGUI</title>";
  write("www", { "index.html": page }, "");
  const names = write("eauth", { users: users.map((user) => `${user}:${user}-pw\n`).join("") }, "");
  return {
    id: "demo_master",
    timeout: 5,
    gather_job_timeout: 5,
    token_expire: 3600,
    token_expire_user_override: { file: ["shorty"] },
    presence_events: true,
    nodegroups: { web: "L@m1,m2", first: "m1", byos: "G@kernel:Linux and not m2" },
    file_roots: { base: [write("states", { ...states, basic: states.basic + marker })] },
    pillar_roots: { base: [write("pillar", pillar)] },
    external_auth: { file: { "^filename": join(names, "users"), ...grants } },
    netapi_enable_clients: allClients,
    saltgui_templates: { tpl1: { description: "First template", target: "*", command: "test.fib num=10" } },
    saltgui_full_return: true,
    saltgui_motd_txt: "Authorized use only",
    saltgui_preview_grains: ["os", "IP=$.ipv4[0]"],
    saltgui_public_pillars: ["pub_.*"],
  };
}

/** A key that was made for this file. */
const publicKey = `-----BEGIN PUBLIC KEY-----
MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA2oZH6K+c8O+M5TFNPkE5
d2I70hkX/IxR/tnt2ACw+6L8+y1rZ30/keDB/HEQ3A/1j7ImwuGkvC50Qvef1JMR
hR3q8bUALIwDfZaxEhFKKYwy5bVH1xvwpd5/CNCzZpmsR9bZx87JUQWVTnLwzmal
SWsGZX96bIBZjI/Ph7J3OyQU7hriJMSKxd+fPYKLq1jX7rkfmC+FCjBF7NBIxuk2
c+bVWkjGV57TGaP7zacHNKk/SXf09G7ezMJmZoM3PTeKiLicjWDz/EiktcijXIJp
REBUJIi405RKhPxULpILKk2AOmxoNvwt+aDRlqEfIZrk2tluHsH+r18gbIGglFea
UwIDAQAB
-----END PUBLIC KEY-----
`;
