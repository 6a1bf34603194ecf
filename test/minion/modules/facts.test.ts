import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Router } from "zeromq";
import { parseIpAddrShow, selectInterfaces, sortedAddresses } from "../../../src/minion/modules/machine/interfaces.ts";
import { compareAddresses, formatAddress, parseAddress, parseInterface } from "../../../src/python/ipaddress.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import { Float, type ValueMap } from "../../../src/wire/values.ts";
import { callsIn, openWorld, type World } from "./world.ts";

let root = "";
let world: World;
before(async () => {
  root = mkdtempSync(join(tmpdir(), "sw-facts-"));
  world = await openWorld(root, {
    environment: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin" },
    minion: `id: unit\nroot_dir: ${root}\nauth_timeout: 1\n`,
  });
});
after(() => rmSync(root, { recursive: true }));

const call = callsIn(() => world);
const mapOf = async (...words: readonly string[]): Promise<ValueMap> => (await call(...words)) as ValueMap;
const keysOf = (map: ValueMap) => [...map.keys()];
const isFloat = (value: unknown) => value instanceof Float || (typeof value === "number" && !Number.isInteger(value));

describe("status", () => {
  it("uptime has Salt's members", async () => {
    const uptime = await mapOf("status.uptime");
    assert.deepEqual(
      keysOf(uptime),
      ["seconds", "since_iso", "since_t", "days", "time", "users"].filter((name) => uptime.has(name)),
    );
    assert.match(String(uptime.get("since_iso")), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}$/);
    assert.match(String(uptime.get("time")), /^\d{1,2}:\d{1,2}$/);
    const seconds = Number(uptime.get("seconds"));
    assert.equal(uptime.get("days"), Math.floor(seconds / 86_400));
    assert.ok(Math.abs(Number(uptime.get("since_t")) + seconds - Date.now() / 1_000) < 5);
  });

  it("loadavg are three floats, whole ones too", async () => {
    const load = await mapOf("status.loadavg");
    assert.deepEqual(keysOf(load), ["1-min", "5-min", "15-min"]);
    assert.ok([...load.values()].every(isFloat));
  });

  it("meminfo are texts with units", async () => {
    const memory = await mapOf("status.meminfo");
    assert.deepEqual(keysOf(memory).slice(0, 2), ["MemTotal", "MemFree"]);
    const total = memory.get("MemTotal") as ValueMap;
    assert.deepEqual(keysOf(total), ["value", "unit"]);
    assert.match(String(total.get("value")), /^\d+$/);
    assert.equal(total.get("unit"), "kB");
  });

  it("diskusage counts bytes of paths, and of filesystems whose type matches", async () => {
    const usage = await mapOf("status.diskusage", "/");
    assert.deepEqual(keysOf(usage), ["/"]);
    const { available, total } = Object.fromEntries(usage.get("/") as ValueMap);
    assert.ok(Number(available) <= Number(total) && Number(total) > 1_000_000);
    assert.equal((await mapOf("status.diskusage")).has("/"), true);
    assert.equal((await mapOf("status.diskusage", "no-such-type*")).size, 0);
  });

  it("procs knows this process, pid finds another by its command line", async () => {
    const own = (await mapOf("status.procs")).get(String(process.pid)) as ValueMap;
    assert.match(String(own.get("cmd")), /node/);
    assert.deepEqual(keysOf(own), ["user", "cmd"]);
    assert.equal(await call("status.pid", "no[_]such[_]process[_]anywhere"), "");
    assert.match(String(await call("status.pid", "PID +PPID")), /^PID$/);
  });

  it("cpustats, vmstats, netdev, diskstats and cpuinfo read the kernel's tables", async () => {
    const cpu = (await mapOf("status.cpustats")).get("cpu") as ValueMap;
    assert.deepEqual(keysOf(cpu), ["idle", "iowait", "irq", "nice", "softirq", "steal", "system", "user"]);
    assert.equal(typeof (await mapOf("status.vmstats")).get("nr_free_pages"), "number");
    assert.equal(((await mapOf("status.netdev")).get("lo") as ValueMap).get("iface"), "lo");
    assert.equal((await mapOf("status.cpuinfo")).has("processor"), true);
    for (const device of (await mapOf("status.diskstats")).values()) assert.equal((device as ValueMap).size, 14);
    assert.ok(Number(await call("status.nproc")) >= 1);
    assert.match(String(await call("status.version")), /^Linux version /);
    assert.match(String(await call("status.time", "%Y-%m")), /^\d{4}-\d\d$/);
  });

  it("all_status holds them all", async () => {
    const names = [
      "cpuinfo",
      "cpustats",
      "diskstats",
      "diskusage",
      "loadavg",
      "meminfo",
      "netdev",
      "netstats",
      "uptime",
    ];
    assert.deepEqual(keysOf(await mapOf("status.all_status")), [...names, "vmstats", "w"]);
  });

  it("ping_master is True for a master that answers, and False without an answer within auth_timeout", async () => {
    const master = new Router({ linger: 0 });
    await master.bind("tcp://127.0.0.1:*");
    const port = master.lastEndpoint?.split(":").at(-1) ?? "";
    const answered = call("status.ping_master", `127.0.0.1:${port}`);
    const [client = Buffer.alloc(0), , request = Buffer.alloc(0)] = await master.receive();
    const envelope = decode(request) as ValueMap;
    assert.deepEqual(envelope.get("load"), new Map([["cmd", "ping"]]));
    await master.send([client, "", "x"]);
    assert.equal(await answered, true);
    master.close();
    assert.equal(await call("status.ping_master", `127.0.0.1:${port}`), false);
  });
});

describe("disk", () => {
  it("usage and inodeusage are texts by mount point", async () => {
    const usage = (await mapOf("disk.usage")).get("/") as ValueMap;
    assert.deepEqual(keysOf(usage), ["filesystem", "1K-blocks", "used", "available", "capacity"]);
    assert.match(String(usage.get("capacity")), /^\d+%$/);
    assert.equal(await call("disk.percent", "/"), (await mapOf("disk.percent")).get("/"));
    const inodes = (await mapOf("disk.inodeusage")).get("/") as ValueMap;
    assert.deepEqual(keysOf(inodes), ["inodes", "used", "free", "use", "filesystem"]);
  });

  it("refuses flags of df that Salt refuses", async () => {
    await assert.rejects(call("disk.usage", "z"), { message: "Invalid flag passed to disk.usage" });
    assert.equal((await mapOf("disk.usage", "k")).has("/"), true);
  });
});

const ipOutput = `1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN
    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00
    inet 127.0.0.1/8 scope host lo
       valid_lft forever preferred_lft forever
    inet6 ::1/128 scope host
       valid_lft forever preferred_lft forever
2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP
    link/ether 02:fc:00:00:00:01 brd ff:ff:ff:ff:ff:ff
    inet 192.0.2.20/24 brd 192.0.2.255 scope global eth0
    inet 192.0.2.3/24 brd 192.0.2.255 scope global secondary eth0:1
    inet6 fe80::fc:ff:fe00:1/64 scope link
3: eth0.7@eth0: <BROADCAST,MULTICAST> mtu 1500 qdisc noop state DOWN
    link/ether 02:fc:00:00:00:02 brd ff:ff:ff:ff:ff:ff
4: tun0: <POINTOPOINT,UP> mtu 1500
    link/none
    inet 10.8.0.1 peer 10.8.0.2/32 scope global tun0
`;

describe("interfaces", () => {
  const interfaces = parseIpAddrShow(ipOutput);

  it("are read from ip with secondary addresses, labels, parents and peers", () => {
    assert.deepEqual(Object.fromEntries(interfaces), {
      lo: {
        up: true,
        hwaddr: "00:00:00:00:00:00",
        inet: [{ address: "127.0.0.1", netmask: "255.0.0.0", broadcast: null, label: "lo" }],
        inet6: [{ address: "::1", prefixlen: "128", scope: "host" }],
      },
      eth0: {
        up: true,
        hwaddr: "02:fc:00:00:00:01",
        inet: [{ address: "192.0.2.20", netmask: "255.255.255.0", broadcast: "192.0.2.255", label: "eth0" }],
        secondary: [
          { type: "inet", address: "192.0.2.3", netmask: "255.255.255.0", broadcast: "192.0.2.255", label: "eth0:1" },
        ],
        inet6: [{ address: "fe80::fc:ff:fe00:1", prefixlen: "64", scope: "link" }],
      },
      "eth0.7": { up: false, parent: "eth0", hwaddr: "02:fc:00:00:00:02" },
      tun0: {
        up: true,
        inet: [{ address: "10.8.0.1", netmask: "255.255.255.255", broadcast: null, label: "tun0" }],
      },
    });
  });

  it("list their addresses in numeric order, without the loopback unless asked for", () => {
    assert.deepEqual(sortedAddresses([...interfaces.values()], "inet", false), ["10.8.0.1", "192.0.2.3", "192.0.2.20"]);
    assert.deepEqual(sortedAddresses(selectInterfaces(interfaces, "l*,tun0"), "inet", true), ["10.8.0.1", "127.0.0.1"]);
    assert.deepEqual(sortedAddresses(selectInterfaces(interfaces, ["nosuch"]), "inet", true), []);
  });

  it("of this machine have the loopback", async () => {
    const lo = (await mapOf("network.interfaces")).get("lo") as ValueMap;
    assert.equal(lo.get("up"), true);
    assert.equal(await call("network.interface_ip", "lo"), "127.0.0.1");
    assert.match(
      String(await call("network.hw_addr", "nosuch0")),
      /^Interface "nosuch0" not in available interfaces: "/,
    );
  });
});

describe("addresses", () => {
  it("are written in their shortest form", () => {
    const written = [
      "2001:db8:0:0:1:0:0:1",
      "0:0:0:0:0:0:0:0",
      "::ffff:10.0.0.1",
      "1:0:0:2:0:0:0:3",
      "1:0:2:3:4:5:6:7",
      "010.1.1.1",
    ];
    const shown = written.map((text) => {
      const address = parseAddress(text);
      return address === undefined ? undefined : formatAddress(address);
    });
    assert.deepEqual(shown, ["2001:db8::1:0:0:1", "::", "::ffff:a00:1", "1:0:0:2::3", "1:0:2:3:4:5:6:7", undefined]);
  });

  it("lie in the network of their mask", () => {
    const networks = ["10.1.2.3/8", "10.1.2.3/255.255.240.0", "10.1.2.3", "fd00::5/10", "10.1.2.3/33", "x/8"].map(
      (text) => parseInterface(text)?.network,
    );
    assert.deepEqual(networks, ["10.0.0.0/8", "10.1.0.0/20", "10.1.2.3/32", "fd00::/10", undefined, undefined]);
  });

  it("are ordered by number, networks of one address by their prefix", () => {
    const sorted = ["10.0.0.0/16", "9.0.0.0", "fd00::", "10.0.0.0/8", "::1", "10.0.0.10", "10.0.0.9"].sort(
      compareAddresses,
    );
    assert.deepEqual(sorted, ["9.0.0.0", "10.0.0.0/8", "10.0.0.0/16", "10.0.0.9", "10.0.0.10", "::1", "fd00::"]);
  });
});
