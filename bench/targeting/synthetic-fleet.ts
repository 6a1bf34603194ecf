/** Minions that exist only as data: ids, grains and pillar like a real fleet's, always the same for the same number. */
import { encode } from "../../src/wire/msgpack.ts";

const dataCentres = ["fra1", "ams2", "iad3", "sin4"];
const roles = ["web", "db", "cache", "queue", "build", "edge", "log", "mail", "dns", "ci"];
const systems = [
  { os: "Debian", os_family: "Debian", osrelease: "12.5", osmajorrelease: 12 },
  { os: "Debian", os_family: "Debian", osrelease: "11.9", osmajorrelease: 11 },
  { os: "Ubuntu", os_family: "Debian", osrelease: "22.04", osmajorrelease: 22 },
  { os: "CentOS", os_family: "RedHat", osrelease: "7.9", osmajorrelease: 7 },
];
/** Grains that targets seldom use. They make a record as long as a real minion's, 3,000 bytes. */
const rest = Object.fromEntries(
  Array.from({ length: 60 }, (_, at) => [`grain_${at}`, at % 3 === 0 ? at : `value of grain ${at}, as long as most`]),
);

export function syntheticId(number: number): string {
  const role = roles[number % roles.length];
  return `${role}${String(number).padStart(6, "0")}.${dataCentres[number % 4]}.example.org`;
}

function addressOf(number: number): string {
  return `10.${(number >> 16) & 255}.${(number >> 8) & 255}.${number & 255}`;
}

function syntheticGrains(number: number) {
  const id = syntheticId(number);
  const ipv4 = [addressOf(number), "127.0.0.1"];
  return {
    id,
    host: id.split(".")[0],
    fqdn: id,
    // A multiplier without common factors, so that no two grains correlate.
    ...systems[(number * 7 + (number >> 5)) % systems.length],
    kernelrelease: `6.1.0-${number % 37}-amd64`,
    cpuarch: number % 9 === 0 ? "aarch64" : "x86_64",
    num_cpus: 1 << (number % 6),
    mem_total: 2_048 << (number % 5),
    ipv4,
    ip4_interfaces: { eth0: [ipv4[0]], lo: ["127.0.0.1"] },
    hwaddr_interfaces: { eth0: `02:00:${number.toString(16).padStart(8, "0").match(/../g)?.join(":")}` },
    machine_id: number.toString(16).padStart(32, "0"),
    roles: [roles[number % roles.length], roles[(number >> 3) % roles.length]],
    datacenter: dataCentres[number % 4],
    rack: `r${number % 211}`,
    ...rest,
  };
}

function syntheticPillar(number: number) {
  const role = roles[number % roles.length] ?? "";
  return { app: { role, tier: number % 3 }, environment: number % 5 === 0 ? "staging" : "production" };
}

/** The grains and pillar in the store's form. */
export function syntheticFacts(number: number): { grains: Buffer; pillar: Buffer } {
  return { grains: encode(syntheticGrains(number), "bin"), pillar: encode(syntheticPillar(number), "bin") };
}

export type TargetCase = { readonly name: string; readonly kind: string; readonly expression: string | string[] };

/** One target of each kind that operators use. */
export function targetCases(minions: number): TargetCase[] {
  const names = Array.from({ length: 100 }, (_, at) => syntheticId(Math.floor((at * minions) / 100)));
  const five = "G@os:Debian and P@osrelease:1[12].* and I@app:role:web and not G@rack:r1? or L@absent";
  return [
    { name: "everybody", kind: "glob", expression: "*" },
    { name: "glob", kind: "glob", expression: "web*" },
    { name: "pcre", kind: "pcre", expression: "(web|db)[0-9]+\\.fra1\\..*" },
    { name: "list of 100", kind: "list", expression: names },
    { name: "grain", kind: "grain", expression: "os:Debian" },
    { name: "grain glob", kind: "grain", expression: "osrelease:1*" },
    { name: "grain of a list", kind: "grain", expression: "roles:web" },
    { name: "grain that each has its own", kind: "grain", expression: `fqdn:${syntheticId(minions >> 1)}` },
    { name: "glob over a grain that each has its own", kind: "grain", expression: "fqdn:db0*" },
    { name: "nested grain", kind: "grain", expression: "ip4_interfaces:eth0:10.0.3.*" },
    { name: "grain_pcre", kind: "grain_pcre", expression: "os:(Debian|Ubuntu)" },
    { name: "pillar", kind: "pillar", expression: "app:role:web" },
    { name: "pillar_exact", kind: "pillar_exact", expression: "environment:staging" },
    { name: "ipcidr", kind: "ipcidr", expression: "10.0.16.0/20" },
    { name: "compound of five", kind: "compound", expression: five },
  ];
}
