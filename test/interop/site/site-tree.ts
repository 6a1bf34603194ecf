/**
 * A whole Salt site: two environments, thirty state files, top files with every matcher, pillars of six sources, Python of its own, a reactor, an
 * engine, a schedule and an orchestration. `OUT` in the files stands for the folder in which minions write.
 */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { SampleRepository } from "../../git/sample-repositories.ts";
import { block, Keyring } from "../../pillar/gpg/keyring.ts";

/** A state file that writes one file, with the minion's id in its path. */
function writes(name: string, text: string, rest = ""): string {
  return `{{ pillar['out'] }}/{{ grains['id'] }}/${name}:\n  file.managed:\n    - makedirs: True\n    - contents: |\n        ${text.replaceAll("\n", "\n        ")}\n${rest}`;
}

const states: Readonly<Record<string, string>> = {
  "top.sls": `base:
  '*': [common, users, python, mined]
  'web*': [web]
  'role:db': [{match: grain}, db]
  'role:(web|db)': [{match: grain_pcre}, both]
  'G@role:web and not E@dev.*': [web.tls]
  'db1,ghost': [{match: list}, backup]
  '^(web|db)\\d+$': [{match: pcre}, monitoring]
  'tier:front': [{match: pillar}, front]
  'tier:fr.*': [{match: pillar_pcre}, front.deep]
  racks: [{match: nodegroup}, rack]
  '127.0.0.0/8': [{match: ipcidr}, local]
dev:
  'dev*': [feature]
`,
  "common/init.sls": `include: [common.motd, common.macros_used]\n${writes("common", "{{ grains['id'] }} in {{ saltenv }}")}`,
  "common/motd.sls": writes("motd", "{{ pillar['motd'] }}"),
  "common/macros.jinja": "{% macro shout(word) %}{{ word | upper }}!{% endmacro %}\n",
  "common/macros_used.sls": `{% from 'common/macros.jinja' import shout with context %}\n${writes("shout", "{{ shout(grains['id']) }}")}`,
  "users.sls": `{% for name, user in pillar['users'].items() %}\n${writes("users/{{ name }}", "{{ name }} {{ user['uid'] }} {{ user.get('shell', '/bin/sh') }}")}{% endfor %}\n`,
  "web/init.sls": `include: [web.vhosts]\n{{ pillar['out'] }}/{{ grains['id'] }}/web.conf:\n  file.managed:\n    - source: salt://web/files/web.conf\n    - template: jinja\n    - makedirs: True\n    - context: {port: 8080}\n`,
  "web/files/web.conf": "port {{ port }}\nname {{ grains['id'] }}\nplain {{ salt['pillar.get']('users:ann:uid') }}\n",
  "web/vhosts.sls": `{% for host in pillar.get('hosts', []) | sort %}\n${writes("vhosts/{{ host }}", "host {{ host }}")}{% endfor %}\n`,
  "web/tls.sls": writes("tls", "{{ pillar['secret'] }}", "    - require: [{sls: web}]\ninclude: [web]\n"),
  "db/init.sls": `include: [.users]\n${writes("db", "{{ pillar['db']['port'] }}")}`,
  "db/users.sls": writes("db_users", "{{ pillar['db']['users'] | join(' ') }}"),
  "both.sls": writes("both", "{{ grains['role'] }}"),
  "backup.sls": writes("backup", "{{ pillar['from_git'] }}"),
  "monitoring.sls": writes("monitoring", "{{ pillar['from_command'] }}"),
  "front/init.sls": writes("front", "{{ pillar['tier'] }}"),
  "front/deep.sls": writes(
    "front_deep",
    "{{ pillar['file_tree']['note'] if pillar.get('file_tree') else pillar['note'] }}",
  ),
  "rack.sls": writes("rack", "{{ grains['place'] }}"),
  "local.sls": writes("local", "{{ '127.0.0.1' in grains['ipv4'] }}"),
  "python.sls": `by the site's state:\n  site_state.stamped:\n    - path: {{ pillar['out'] }}/{{ grains['id'] }}/stamped\n    - text: {{ salt['site_module.word']() }} {{ grains['site_grain'] }}\n`,
  "mined.sls": writes("mined", "{{ salt['mine.get']('*', 'place') | dictsort | json }}"),
  "told.sls": writes("told", "by ext_nodes"),
  "told_python.sls": writes("told_python", "by the site's Python"),
  "orch/deploy.sls": `first:
  salt.function: [{name: test.arg}, {tgt: 'web*'}, {arg: [1, two]}]
second:
  salt.state: [{tgt: db1}, {sls: backup}, {require: [{salt: first}]}]
third:
  salt.runner: [{name: site_runner.greet}, {who: "{{ pillar.get('who', 'all') }}"}, {require: [{salt: second}]}]
fourth:
  salt.wheel: [{name: key.list_all}, {onchanges_any: [{salt: second}, {salt: third}]}]
python in the master:
  test.configurable_test_state:
    - changes: False
    - result: True
    - comment: {{ pillar['by_python'] }} {{ salt['site_module.word']() }} {{ pillar['secret'] }}
never:
  test.fail_without_changes: [{onlyif: 'false'}]
fails:
  test.fail_with_changes: []
after_failure:
  test.nop: [{onfail: [{test: fails}]}]
`,
  "reactor/deploy.sls": `written:
  local.state.single:
    - tgt: web1
    - args:
      - fun: file.managed
      - name: {{ data['out'] }}/reacted
      - contents: {{ data['word'] }} {{ tag }}
`,
  "_modules/site_module.py": "def word():\n    return 'worded by ' + __grains__['id']\n",
  "_grains/site_grains.py": "def facts():\n    return {'site_grain': 'grown'}\n",
  "_states/site_state.py": `import os\n\ndef stamped(name, path, text):\n    os.makedirs(os.path.dirname(path), exist_ok=True)\n    with open(path, 'w') as file:\n        file.write(text)\n    return {'name': name, 'result': True, 'changes': {'stamped': text}, 'comment': 'stamped'}\n`,
  "_runners/site_runner.py": "def greet(who):\n    return 'hello ' + who\n",
};

const dev: Readonly<Record<string, string>> = {
  "feature/init.sls": writes("feature", "{{ saltenv }} {{ pillar.get('feature') }}"),
};

const pillars: Readonly<Record<string, string>> = {
  "top.sls": `base:
  '*': [site, users]
  'role:db': [{match: grain}, db]
  'web*': [front]
dev:
  'dev*': [feature]
`,
  "site.sls":
    "motd: welcome to {{ grains['id'] }}\nout: OUT\nmine_functions:\n  place:\n    - mine_function: grains.get\n    - place\n  closed:\n    - mine_function: grains.get\n    - role\n    - allow_tgt: 'db*'\n",
  "users.sls": "users:\n  ann: {uid: 1001}\n  bob: {uid: 1002, shell: /bin/zsh}\n",
  "db.sls": "db: {port: 5432, users: [{% for n in ['a', 'b'] %}{{ n }}{{ ', ' if not loop.last }}{% endfor %}]}\n",
  "front.sls": "tier: front\nhosts: [one.example, two.example]\n",
};

const python: Readonly<Record<string, string>> = {
  "pillar/site_pillar.py":
    "def ext_pillar(minion_id, pillar, word):\n    return {'by_python': word + ' ' + minion_id, 'seen': sorted(pillar)}\n",
  "tops/site_tops.py": "def top(**kwargs):\n    return {'base': ['told_python']}\n",
  "engines/site_engine.py":
    "import time\nimport salt.utils.event\n\ndef start(word):\n    event = salt.utils.event.get_master_event(__opts__, __opts__['sock_dir'], listen=False)\n    while True:\n        event.fire_event({'word': word}, 'site/engine')\n        time.sleep(1)\n",
};

export const minionIds = ["web1", "web2", "db1", "db2", "dev1"] as const;
type MinionId = (typeof minionIds)[number];
/** Releases of Salt by minion. */
export const releaseOf: Readonly<Record<MinionId, "3006" | "3007" | "3008">> = {
  ...{ web1: "3007", web2: "3008", db1: "3006", db2: "3008", dev1: "3006" },
};
/** Grains by minion. */
export const grains: Readonly<Record<MinionId, Readonly<Record<string, string>>>> = {
  web1: { role: "web", place: "rack-1" },
  web2: { role: "web", place: "rack-2" },
  db1: { role: "db", place: "rack-2" },
  db2: { role: "db", place: "rack-1" },
  dev1: { role: "web", place: "rack-1" },
};

export type SiteTree = { readonly options: Readonly<Record<string, unknown>>; readonly out: string; remove(): void };

/** @param folder - below the master's `root_dir`, where Salt looks for the site's Python */
export function writeSite(folder: string, cachedir: string): SiteTree {
  const out = join(folder, "out");
  const below = (part: string, files: Readonly<Record<string, string>>) => {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, part, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text.replaceAll("OUT", out));
    }
  };
  const keys = new Keyring();
  below("states", states);
  below("dev", dev);
  below("pillar", pillars);
  below("pillar", {
    "site.sls": `#!jinja|yaml|gpg\n${pillars["site.sls"]}secret: ${block(keys.encrypt("open sesame"), 2)}`,
  });
  below("pillar-dev", { "feature.sls": "feature: new\n" });
  below("python", python);
  below("tree/hosts/web1", { note: "a note for web1\n" });
  const files = new SampleRepository(join(folder, "gitfs"));
  files.commit({ "shared.sls": writes("shared", "from git"), "shared.txt": "a file of git\n" });
  const pillarRepository = new SampleRepository(join(folder, "git_pillar"));
  pillarRepository.commit({ "top.sls": "base: {'*': [git]}\n", "git.sls": "from_git: a pillar of git\n" });
  const nodes = join(folder, "nodes");
  writeFileSync(nodes, "#!/bin/sh\necho 'classes: [told, shared]'\n");
  chmodSync(nodes, 0o755);
  return {
    out,
    options: optionsOf(folder, cachedir, nodes, keys.directory, [files.url, pillarRepository.url]),
    remove: () => keys.remove(),
  };
}

function optionsOf(
  folder: string,
  cachedir: string,
  nodes: string,
  gpgDirectory: string,
  [filesUrl, pillarUrl]: readonly [string, string],
): SiteTree["options"] {
  const inFolder = (name: string) => join(folder, name);
  return {
    auto_accept: true,
    timeout: 60,
    file_roots: { base: [inFolder("states")], dev: [inFolder("dev")] },
    pillar_roots: { base: [inFolder("pillar")], dev: [inFolder("pillar-dev")] },
    fileserver_backend: ["roots", "git"],
    gitfs_remotes: [filesUrl],
    gpg_keydir: gpgDirectory,
    ext_pillar: [
      { cmd_yaml: "echo 'from_command: told by a command'" },
      { file_tree: { root_dir: inFolder("tree") } },
      { git: [`master ${pillarUrl}`] },
      { site_pillar: { word: "made for" } },
    ],
    pillar_dirs: [inFolder("python/pillar")],
    top_dirs: [inFolder("python/tops")],
    engines_dirs: [inFolder("python/engines")],
    extension_modules: join(cachedir, "extmods"),
    master_tops: { ext_nodes: nodes, site_tops: true },
    engines: [{ site_engine: { word: "tick" } }],
    nodegroups: { racks: "G@place:rack-1 and not dev1" },
    reactor: [{ "site/deploy": [inFolder("states/reactor/deploy.sls")] }],
    schedule: { beat: { function: "event.send", args: ["site/beat"], kwargs: { data: { n: 1 } }, seconds: 3 } },
  };
}
