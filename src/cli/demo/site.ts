/** The private directory of a demo: configuration of a master and its minions, on free ports of the loopback interface. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { socketPathBytesMax } from "../../limits.ts";

export type DemoMinion = { readonly id: string; readonly configDir: string };
export type DemoSite = {
  readonly folder: string;
  readonly masterConfigDir: string;
  readonly minions: readonly DemoMinion[];
  remove(): void;
};

/** Names and roles of the first minions, for targets to try. */
const known = [
  { id: "web1.example.com", role: "web" },
  { id: "web2.example.com", role: "web" },
  { id: "db1.example.com", role: "db" },
  { id: "cache1.example.com", role: "cache" },
  { id: "mail1.example.com", role: "mail" },
];
/** Bytes of the longest socket path below the temporary directory. */
const socketPathRoom = "/saltworks-demo-XXXXXX/master/run/master_event_pull.ipc".length;

export async function createSite(minionCount: number): Promise<DemoSite> {
  const parent = Buffer.byteLength(tmpdir()) + socketPathRoom <= socketPathBytesMax ? tmpdir() : "/tmp";
  const folder = mkdtempSync(join(parent, "saltworks-demo-"));
  const [publishPort, requestPort] = await freePorts(2);
  const masterConfigDir = join(folder, "master");
  write(join(masterConfigDir, "master"), [
    "interface: 127.0.0.1",
    `publish_port: ${publishPort}`,
    `ret_port: ${requestPort}`,
    "worker_threads: 2",
    "auto_accept: False",
    "log_level: quiet",
    "log_level_logfile: info",
    ...directories(masterConfigDir),
  ]);
  const minions = Array.from({ length: minionCount }, (_, index) => {
    const { id, role } = known[index] ?? { id: `minion${index + 1}.example.com`, role: "other" };
    const configDir = join(folder, id);
    write(join(configDir, "minion"), [
      `id: ${id}`,
      "master: 127.0.0.1",
      `master_port: ${requestPort}`,
      `publish_port: ${publishPort}`,
      "acceptance_wait_time: 1",
      `grains: {role: ${role}}`,
      "log_level: quiet",
      "log_level_logfile: info",
      ...directories(configDir),
    ]);
    return { id, configDir };
  });
  return { folder, masterConfigDir, minions, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

function directories(folder: string): string[] {
  return [
    `pki_dir: ${folder}/pki`,
    `cachedir: ${folder}/cache`,
    `sock_dir: ${folder}/run`,
    `log_file: ${folder}/log`,
    `pidfile: ${folder}/pid`,
  ];
}

function write(file: string, lines: readonly string[]): void {
  mkdirSync(join(file, ".."), { recursive: true });
  writeFileSync(file, `${lines.join("\n")}\n`);
}

/** Holds all ports open at once, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once("error", reject);
          server.listen(0, "127.0.0.1", () => {
            const address = server.address();
            resolve(typeof address === "object" && address !== null ? address.port : 0);
          });
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
