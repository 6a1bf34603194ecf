/** The files of the fleet on which Salt's transcripts were recorded: pillar, file roots and configuration, as far as the output depends on them. */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { repositoryRoot } from "../../root.ts";

type Settings = Readonly<Record<string, unknown>>;

const recorded = JSON.parse(readFileSync(join(repositoryRoot, "test/golden/fleet.json"), "utf8")) as {
  readonly minions: { readonly [id: string]: { readonly grains: Settings } };
  readonly nodegroups: Settings;
};

export const goldenIds: readonly string[] = Object.keys(recorded.minions);

/** The minion whose commands run without a shell, which was that Salt release's default. */
const withoutShell = "10.40.0.9";

export const goldenMaster: Settings = {
  auto_accept: true,
  // The recorded masters had five. No command shows the number, and each costs time at a start. Salt's tools warn of fewer than three.
  worker_threads: 3,
  // What is not available does not depend on the machine's Salt.
  salt_python: false,
  peer: { ".*": ["test.*", "grains.get", "network.ip_addrs"] },
  peer_run: { "web1.*": ["manage.up", "test.arg"] },
};

/** Options that the masters' programs read from files beside the main one. */
export const goldenNodegroups: Settings = { nodegroups: recorded.nodegroups };

export function goldenMinion(id: string, root: string): Settings {
  // Recorded as a grain, and also the minion's id.
  const { id: _id, ...grains } = recorded.minions[id]?.grains ?? {};
  return {
    grains: { ...grains, root_dir_for_tests: join(root, "minions", id, "scratch") },
    enable_fqdns_grains: false,
    ...(id === withoutShell ? {} : { cmd_safe: false }),
  };
}

export const es1Mine: Settings = {
  mine_interval: 5,
  mine_functions: { "network.ip_addrs": [], uptime_raw: [{ mine_function: "cmd.run" }, "echo from-config"] },
};

const files: { readonly [path: string]: string } = {
  "srv/pillar/top.sls": `base:
  '*': [common, saltmine]
  'web*': [web]
  'role:search':
    - match: grain
    - search
  'db1.example.com': [db]
`,
  "srv/pillar/common.sls": `company: Example Corp
ntp:
  servers: [ntp1.example.com, ntp2.example.com]
`,
  "srv/pillar/saltmine.sls": `mine_functions:
  status.uptime: []
  test.ping: []
  grains.get: [role]
  greeting:
    - mine_function: test.echo
    - hello
  restricted:
    - mine_function: grains.get
    - id
    - allow_tgt: 'web*'
    - allow_tgt_type: glob
`,
  "srv/pillar/web.sls": `tier: front
app:
  name: shop
  ports: [80, 443]
  flags: {debug: false, level: 3}
secret: s3cret
`,
  "srv/pillar/search.sls": `tier: search
cluster: logs-eu
app: {name: elastic, heap: 2g}
`,
  "srv/pillar/db.sls": `tier: data
app: {name: orders, ports: [3306]}
`,
  "srv/salt/top.sls": `base:
  '*': [motd]
  'web*': [webconf]
`,
  "srv/salt/motd.sls": `motd:
  file.managed:
    - name: {{ grains['root_dir_for_tests'] }}/motd
    - contents: welcome to {{ grains['id'] }}
`,
  "srv/salt/webconf.sls": `conf_dir:
  file.directory:
    - name: {{ grains['root_dir_for_tests'] }}/conf.d

conf_file:
  file.managed:
    - name: {{ grains['root_dir_for_tests'] }}/conf.d/app.conf
    - source: salt://files/app.conf
    - require:
      - file: conf_dir

announce:
  cmd.run:
    - name: echo configured
    - onchanges:
      - file: conf_file
`,
  "srv/salt/broken.sls": `ok_step:
  test.succeed_without_changes

bad_step:
  cmd.run:
    - name: exit 3

after_bad:
  test.nop:
    - require:
      - cmd: bad_step
`,
  "small.txt": "small\n",
  "tree/a.txt": "a\n",
  "tree/sub/b.txt": "b\n",
  "srv/salt/files/app.conf": "listen = 8080\nworkers = 2\n",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: a recorded script of the shell
  "srv/salt/scripts/hello.sh": '#!/bin/sh\necho "hello $1 from script"\nexit ${2:-0}\n',
  "srv/salt/_modules/check_mk.py": `def agent():
    """
    Three lines, as the agent of a monitoring system prints them.
    """
    return "<<<check_mk>>>\\nVersion: 1.2.0p3\\nHostname: " + __grains__["host"]
`,
};

export function writeGoldenFiles(root: string): void {
  for (const [path, text] of Object.entries(files)) writeFile(join(root, path), text);
  for (const id of goldenIds) {
    mkdirSync(join(root, "minions", id, "scratch"), { recursive: true });
    // The recorded minions had different host names; here they share one host.
    const name = String(recorded.minions[id]?.grains.host ?? id);
    const program = join(root, "minions", id, "bin", "hostname");
    writeFile(program, `#!/bin/sh\necho ${name}\n`);
    chmodSync(program, 0o755);
  }
}

function writeFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

/** JSON is YAML: one option a line, so that an error message has the right line. */
export function writeSettings(path: string, settings: Settings): void {
  const lines = Object.entries(settings).map(([key, value]) => `${key}: ${JSON.stringify(value)}\n`);
  writeFile(path, lines.join(""));
}
