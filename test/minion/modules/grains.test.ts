import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, machine, release, tmpdir, type } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { loadMinionConfig } from "../../../src/config/load.ts";
import { collectGrains } from "../../../src/minion/modules/grains/core.ts";
import { parseGrainsFile, writeGrainsFile } from "../../../src/minion/modules/grains/file.ts";
import { memoryGrains, processorGrains } from "../../../src/minion/modules/grains/hardware.ts";
import { parseResolverFile } from "../../../src/minion/modules/grains/network.ts";
import { readDistribution } from "../../../src/minion/modules/grains/os.ts";
import { Float, type Value } from "../../../src/wire/values.ts";
import { openWorld } from "./world.ts";

let root = "";
before(() => {
  root = mkdtempSync(join(tmpdir(), "sw-grains-"));
});
after(() => rmSync(root, { recursive: true }));

const logged: string[] = [];
const write = (text: string) => void logged.push(text);
const log = { debug: write, info: write, warn: write, error: write };

async function collect(minion: string, grainsFile?: string) {
  const configDir = mkdtempSync(join(root, "etc-"));
  writeFileSync(join(configDir, "minion"), minion);
  if (grainsFile !== undefined) writeFileSync(join(configDir, "grains"), grainsFile);
  return await collectGrains({ config: loadMinionConfig(configDir), environment: { PATH: "/usr/bin:/bin" }, log });
}

describe("the grains of a machine", () => {
  it("have Salt's names, except those about Python", async () => {
    const grains = await collect("id: es1\nmaster: 127.0.0.1\n");
    const names = [
      ...[
        "cpu_flags",
        "cpu_model",
        "cpuarch",
        "cwd",
        "disks",
        "dns",
        "domain",
        "efi",
        "efi-secure-boot",
        "fqdn",
        "fqdn_ip4",
      ],
      ...["fqdn_ip6", "fqdns", "gid", "gpus", "groupname", "host", "hwaddr_interfaces", "id", "init", "ip4_interfaces"],
      ...[
        "ip6_interfaces",
        "ip_interfaces",
        "ipv4",
        "ipv6",
        "kernel",
        "kernelparams",
        "kernelrelease",
        "kernelversion",
      ],
      ...[
        "locale_info",
        "localhost",
        "master",
        "mem_total",
        "nodename",
        "num_cpus",
        "num_gpus",
        "os",
        "os_family",
        "osarch",
      ],
      ...[
        "oscodename",
        "osfullname",
        "path",
        "pid",
        "ps",
        "saltversion",
        "saltversioninfo",
        "server_id",
        "shell",
        "ssds",
      ],
      ...["swap_total", "systempath", "transactional", "uid", "username", "virtual"],
    ];
    assert.deepEqual(
      names.filter((name) => !grains.has(name)),
      [],
    );
  });

  it("say what the machine says", async () => {
    const grains = await collect("id: es1\nmaster: 127.0.0.1\n");
    const expected = {
      id: "es1",
      master: "127.0.0.1",
      // Recorded from Salt for this id.
      server_id: 1714453746,
      kernel: type(),
      kernelrelease: release(),
      cpuarch: machine(),
      nodename: hostname(),
      path: "/usr/bin:/bin",
      systempath: ["/usr/bin", "/bin"],
      shell: "/bin/sh",
      pid: process.pid,
      uid: process.getuid?.(),
    };
    assert.deepEqual(Object.fromEntries(Object.keys(expected).map((name) => [name, grains.get(name)])), expected);
    assert.ok(Number(grains.get("num_cpus")) >= 1);
    assert.ok((grains.get("ipv4") as Value[]).includes("127.0.0.1"));
  });

  it("are overridden by the grains file, and that by the configuration", async () => {
    const grains = await collect(
      "id: es1\ngrains: {os: CentOS, both: config, place: {dc: nyc}}\n",
      "both: file\nfile_only: 1.0\n7: seven\nplace: {rack: 3}\n",
    );
    const some = ["os", "both", "file_only", 7, "place"].map((name) => grains.get(name));
    assert.deepEqual(some, ["CentOS", "config", new Float(1), "seven", new Map([["dc", "nyc"]])]);
  });

  it("are merged member by member with grains_deep_merge", async () => {
    const grains = await collect(
      "id: es1\ngrains_deep_merge: true\ngrains: {place: {dc: nyc}}\n",
      "place: {rack: 3}\n",
    );
    assert.deepEqual(
      grains.get("place"),
      new Map<Value, Value>([
        ["rack", 3],
        ["dc", "nyc"],
      ]),
    );
  });

  it("come without a broken grains file, which is logged", async () => {
    logged.length = 0;
    assert.equal((await collect("id: es1\n", "a: [1\nb: }\n")).has("a"), false);
    assert.ok(logged.some((line) => line.startsWith("Bad syntax in grains file! Skipping.")));
  });
});

describe("the grains file", () => {
  const value = new Map<Value, Value>([
    ["yes", "yes"],
    ["number", "010"],
    ["float", new Float(2)],
    ["fraction", 0.25],
    ["none", null],
    [7, [true, "true", new Map<Value, Value>([["a", "café ✓: #x"]])]],
    ["big", 2n ** 63n],
    ["lines", "one\ntwo\n"],
    ["signs", ["=", "<<", "~", ""]],
  ]);

  it("reads back what was written, with types of keys and values", () => {
    const path = join(root, "round-trip");
    writeGrainsFile(path, value);
    assert.deepEqual(parseGrainsFile(path), value);
    writeGrainsFile(path, new Map());
    assert.deepEqual(parseGrainsFile(path), new Map());
    assert.equal(readFileSync(path, "utf8"), "{}\n");
  });

  it("quotes with single quotes what Salt would read as something else", () => {
    const path = join(root, "as-salt");
    const grains = new Map<Value, Value>([
      ["on", ["1", "=", Buffer.from("hi")]],
      ["n", new Map()],
    ]);
    writeGrainsFile(path, grains);
    assert.equal(readFileSync(path, "utf8"), "n: {}\n'on':\n- '1'\n- '='\n- !!binary |\n  aGk=\n");
  });

  it("keeps other grains in it when one is set, and makes the minion refresh", async () => {
    const world = await openWorld(join(root, "set"));
    writeFileSync(join(world.config.configDir, "grains"), "mine: 1\n");
    await world.call(["grains.setval", "role", "[web, db]"]);
    assert.deepEqual(
      parseGrainsFile(join(world.config.configDir, "grains")),
      new Map<Value, Value>([
        ["mine", 1],
        ["role", ["web", "db"]],
      ]),
    );
    assert.deepEqual(
      world.fired.map(({ to, tag }) => [to, tag]),
      [["minion", "pillar_refresh"]],
    );
    await world.call(["grains.setval", "role", "x", "refresh_pillar=False"]);
    assert.equal(world.fired.at(-1)?.tag, "grains_refresh");
  });

  it("that is broken is left alone", async () => {
    const world = await openWorld(join(root, "broken"));
    const path = join(world.config.configDir, "grains");
    writeFileSync(path, "a: [1\n");
    assert.match(
      String((await world.call(["grains.setval", "x", "1"])).value),
      /^Unable to read existing grains file: /,
    );
    assert.equal(readFileSync(path, "utf8"), "a: [1\n");
  });

  it("that cannot be written is an error", async () => {
    const world = await openWorld(join(root, "gone"));
    rmSync(world.config.configDir, { recursive: true });
    await assert.rejects(world.call(["grains.setval", "x", "1"]), /Unable to write to grains file/);
  });
});

describe("grains.items", () => {
  it("hides serial numbers and names with sanitize", async () => {
    const grains = new Map<Value, Value>([
      ["id", "es1"],
      ["host", "h"],
      ["serialnumber", "ABCDEFGH"],
      ["os", "Debian"],
    ]);
    const world = await openWorld(join(root, "sanitize"), { grains });
    const hidden = new Map<Value, Value>([
      ["id", "MINION.DOMAINNAME"],
      ["host", "MINION"],
      ["serialnumber", "ABCDEFXX"],
      ["os", "Debian"],
    ]);
    assert.deepEqual((await world.call(["grains.items", "sanitize=True"])).value, hidden);
    assert.equal(grains.get("id"), "es1");
  });
});

describe("distributions", () => {
  function read(files: { readonly [path: string]: string }) {
    const base = mkdtempSync(join(root, "dist-"));
    mkdirSync(join(base, "etc"));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(base, "etc", name), text);
    const { os, osfullname, osrelease, oscodename } = readDistribution(base);
    return [os, osfullname, osrelease, oscodename];
  }

  it("are named as Salt names them", () => {
    const cases: readonly (readonly [{ readonly [path: string]: string }, readonly string[]])[] = [
      [
        {
          "os-release":
            'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nNAME="Debian GNU/Linux"\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\nID=debian\n',
        },
        ["Debian", "Debian GNU/Linux", "12", "bookworm"],
      ],
      [
        {
          "os-release":
            'NAME="Ubuntu"\nVERSION_ID="22.04"\nID=ubuntu\nID_LIKE=debian\nVERSION_CODENAME=jammy\nPRETTY_NAME="Ubuntu 22.04.4 LTS"\n',
          "lsb-release":
            'DISTRIB_ID=Ubuntu\nDISTRIB_RELEASE=22.04\nDISTRIB_CODENAME=jammy\nDISTRIB_DESCRIPTION="Ubuntu 22.04.4 LTS"\n',
        },
        ["Ubuntu", "Ubuntu", "22.04", "jammy"],
      ],
      [
        {
          "os-release":
            'NAME="CentOS Linux"\nVERSION="7 (Core)"\nID="centos"\nID_LIKE="rhel fedora"\nVERSION_ID="7"\nPRETTY_NAME="CentOS Linux 7 (Core)"\n',
          "centos-release": "CentOS Linux release 7.9.2009 (Core)\n",
        },
        ["CentOS", "CentOS Linux", "7.9.2009", "CentOS Linux 7 (Core)"],
      ],
      [
        {
          "os-release":
            'NAME="Red Hat Enterprise Linux"\nVERSION="8.4 (Ootpa)"\nID="rhel"\nVERSION_ID="8.4"\nPRETTY_NAME="Red Hat Enterprise Linux 8.4 (Ootpa)"\n',
        },
        ["RedHat", "Red Hat Enterprise Linux", "8.4", "Ootpa"],
      ],
      [
        {
          "os-release":
            'NAME="Rocky Linux"\nVERSION="9.3 (Blue Onyx)"\nID="rocky"\nVERSION_ID="9.3"\nPRETTY_NAME="Rocky Linux 9.3 (Blue Onyx)"\n',
        },
        ["Rocky", "Rocky Linux", "9.3", "Blue Onyx"],
      ],
      [
        {
          "os-release":
            'NAME="openSUSE Leap"\nVERSION="15.5"\nID="opensuse-leap"\nVERSION_ID="15.5"\nPRETTY_NAME="openSUSE Leap 15.5"\nCPE_NAME="cpe:/o:opensuse:leap:15.5"\n',
        },
        ["SUSE", "Leap", "15.5", "openSUSE Leap 15.5"],
      ],
      [
        {
          "os-release":
            'NAME="Amazon Linux"\nVERSION="2"\nID="amzn"\nID_LIKE="centos rhel fedora"\nVERSION_ID="2"\nPRETTY_NAME="Amazon Linux 2"\n',
        },
        ["Amazon", "Amazon Linux", "2", "Amazon Linux 2"],
      ],
      [
        {
          "os-release":
            'NAME="Fedora Linux"\nVERSION="39 (Server Edition)"\nID=fedora\nVERSION_ID=39\nVERSION_CODENAME=""\nPRETTY_NAME="Fedora Linux 39 (Server Edition)"\n',
        },
        ["Fedora", "Fedora Linux", "39", ""],
      ],
      [{ "redhat-release": "CentOS release 6.10 (Final)\n" }, ["CentOS", "CentOS", "6.10", "Final"]],
    ];
    for (const [files, names] of cases) assert.deepEqual(read(files), names);
  });
});

describe("files of the kernel and of the resolver", () => {
  it("tell processors, also of ARM and z, and memory", () => {
    assert.deepEqual(
      processorGrains("processor : 0\nmodel name : A\nflags : x y\n\nprocessor : 1\nmodel name : A\nflags : x y\n"),
      {
        num_cpus: 2,
        cpu_model: "A",
        cpu_flags: ["x", "y"],
      },
    );
    assert.deepEqual(processorGrains("Processor : ARMv6-compatible processor rev 7 (v6l)\nFeatures : swp half\n"), {
      num_cpus: 1,
      cpu_model: "ARMv6",
      cpu_flags: ["swp", "half"],
    });
    assert.deepEqual(processorGrains("vendor_id : IBM/S390\n# processors : 4\n"), {
      num_cpus: 4,
      cpu_model: "IBM/S390",
      cpu_flags: [],
    });
    assert.deepEqual(processorGrains(""), { num_cpus: 0, cpu_model: "Unknown", cpu_flags: [] });
    assert.deepEqual(memoryGrains("MemTotal:       24684084 kB\nSwapTotal:       2097148 kB\n"), {
      mem_total: 24105,
      swap_total: 2047,
    });
  });

  it("tell name servers and search lists", () => {
    const text =
      "# comment\nnameserver 192.0.2.53\nnameserver 2001:0DB8::53 ; b\nnameserver bogus\nnameserver 192.0.2.53\ndomain example.com\n";
    assert.deepEqual(
      parseResolverFile(
        `${text}search a.example b.example # c\nsortlist 130.155.160.0/255.255.240.0 130.155.0.0\noptions ndots:2\n`,
      ),
      {
        nameservers: ["192.0.2.53", "2001:db8::53"],
        ip4_nameservers: ["192.0.2.53"],
        ip6_nameservers: ["2001:db8::53"],
        sortlist: ["130.155.160.0/255.255.240.0", "130.155.0.0/255.255.0.0"],
        domain: "example.com",
        search: ["a.example", "b.example"],
        options: ["ndots:2"],
      },
    );
  });
});
