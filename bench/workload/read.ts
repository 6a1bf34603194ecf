/** Reads and checks a workload file. Every error names the file, the line, the member, and what it takes. */
import { SaltworksError } from "../../src/errors.ts";
import type { RequestVersion } from "../fleet/minion-options.ts";
import { type Distribution, largestOf, parseDistribution } from "../load/distribution.ts";
import { bytesMost, daySeconds, minionsMost, perSecondMost } from "../scenarios/setup/parameter-checks.ts";
import type { JobTarget, Operation, Stage, Workload } from "./schema.ts";
import { kinds } from "./schema.ts";
import { type Place, readYamlFile } from "./yaml-reader.ts";

const usersMost = 10_000;
const factorMost = 1_000;
const operationsMost = 64;
const stagesMost = 64;
const delayMsMost = 3_600_000;
/** What stock minions take for a short function. Without it a whole fleet returns at one moment, which no generator can send. */
export const delayMsDefault = "20..500";

const topMembers = [
  "name",
  "minions",
  "versions",
  "connections",
  "processes",
  "seed",
  "arrivals",
  "warm_up",
  "seconds",
  "stages",
  "api_url",
  "operations",
] as const;

/** @throws SaltworksError USAGE */
export function readWorkload(file: string): Workload {
  const { root, text } = readYamlFile(file);
  const top = root.members(topMembers);
  const operations = readOperations(top("operations"));
  return {
    name: top("name").text(),
    minions: top("minions").number({ min: 1, max: minionsMost, isWhole: true }),
    versions: readVersions(top("versions")),
    connections: top("connections").number({ min: 0, max: minionsMost, isWhole: true, byDefault: 0 }),
    processes: top("processes").number({ min: 0, max: 64, isWhole: true, byDefault: 0 }),
    seed: top("seed").number({ min: 0, max: 2 ** 31, isWhole: true, byDefault: 1 }),
    arrivals: top("arrivals").oneOf(["poisson", "constant"], "poisson"),
    warmUp: top("warm_up").number({ min: 0, max: 100_000, isWhole: true, byDefault: 5 }),
    apiUrl: readApiUrl(top("api_url")),
    stages: readStages(top("seconds"), top("stages")),
    operations,
    text,
  };
}

function readStages(seconds: Place, stages: Place): Stage[] {
  if (stages.isMissing) {
    return [{ name: "all", seconds: seconds.number({ min: 0.1, max: daySeconds }), from: 1, to: 1, isMeasured: true }];
  }
  if (!seconds.isMissing) throw seconds.refuse("means nothing beside stages, each of which has its own");
  const read = stages.items().map((place, index) => {
    const stage = place.members(["name", "seconds", "rate", "measured"]);
    return {
      name: stage("name").text(`stage ${index + 1}`),
      seconds: stage("seconds").number({ min: 0.1, max: daySeconds }),
      ...stage("rate").parsed(readFactors, "100%"),
      isMeasured: stage("measured").boolean(true),
    };
  });
  if (read.length === 0 || read.length > stagesMost) throw stages.refuse(`takes 1 to ${stagesMost} stages`);
  if (!read.some(({ isMeasured }) => isMeasured)) throw stages.refuse("measures no stage");
  demandUnique(stages, read);
  return read;
}

/** `150%`, or `50%..300%` for a ramp. */
function readFactors(text: string): { from: number; to: number } {
  const found = /^([\d.]+)%(?:\.\.([\d.]+)%)?$/.exec(text.trim());
  const [from, to] = [Number(found?.[1]) / 100, Number(found?.[2] ?? found?.[1]) / 100];
  if (!(from >= 0 && to >= 0 && from + to > 0 && Math.max(from, to) <= factorMost)) {
    throw new SaltworksError("USAGE", `takes 100% or a ramp such as 50%..300%, not '${text}'`);
  }
  return { from, to };
}

/** One number, or shares such as `{3: 90%, 2: 10%}`. */
function readVersions(place: Place): RequestVersion[] {
  if (place.isMissing) return [3];
  const version = (text: string): RequestVersion => {
    if (text === "0" || text === "2" || text === "3") return Number(text) as RequestVersion;
    throw new SaltworksError("USAGE", `takes request versions 0, 2 and 3, not '${text}'`);
  };
  if (!place.isMap) return [place.parsed(version)];
  const share = place.members(["0", "2", "3"].filter((name) => name in (place.value as object)));
  const shares = Object.keys(place.value as object).map((name) => ({
    version: version(name),
    percent: share(name).parsed(percentOf),
  }));
  const sum = shares.reduce((total, { percent }) => total + percent, 0);
  if (sum !== 100 || shares.some(({ percent }) => !Number.isInteger(percent))) {
    throw place.refuse(`takes whole shares that add up to 100 %, not ${sum} %`);
  }
  return interleaved(shares);
}

/** Each version as often as its share of 100, spread evenly, so that a small fleet has the same shares. */
function interleaved(
  shares: readonly { readonly version: RequestVersion; readonly percent: number }[],
): RequestVersion[] {
  const given = shares.map(() => 0);
  return Array.from({ length: 100 }, (_, place) => {
    const wants = shares.map(({ percent }, index) => ((place + 1) * percent) / 100 - (given[index] ?? 0));
    const chosen = wants.indexOf(Math.max(...wants));
    given[chosen] = (given[chosen] ?? 0) + 1;
    return shares[chosen]?.version ?? 3;
  });
}

function percentOf(text: string): number {
  const found = /^([\d.]+)%$/.exec(text.trim());
  const percent = Number(found?.[1]);
  if (percent > 0 && percent <= 100) return percent;
  throw new SaltworksError("USAGE", `takes a share such as 10%, not '${text}'`);
}

function readApiUrl(place: Place): string {
  const url = place.isMissing ? "" : place.text();
  if (url === "" || /^https?:\/\/[^/]/.test(url)) return url.replace(/\/+$/, "");
  throw place.refuse(`takes a URL such as https://salt:8000, not '${url}'`);
}

function readOperations(place: Place): Operation[] {
  const read = place.items().map(readOperation);
  if (read.length === 0 || read.length > operationsMost) throw place.refuse(`takes 1 to ${operationsMost} operations`);
  demandUnique(place, read);
  const mines = new Set(read.flatMap((one) => (one.kind === "mine_get" ? [one.bytes] : [])));
  if (mines.size > 1) throw place.refuse("all mine_get must have the same bytes: the fleet's mines are filled once");
  return read;
}

function demandUnique(place: Place, named: readonly { readonly name: string }[]): void {
  const twice = named.find(({ name }, index) => named.findIndex((other) => other.name === name) < index);
  if (twice !== undefined) throw place.refuse(`two have the name '${twice.name}'; give each a name of its own`);
}

/** The members of each kind besides `kind`, `name` and `rate`. */
const ownMembers: Readonly<Record<(typeof kinds)[number], readonly string[]>> = {
  job: ["target", "function", "bytes", "delayMs"],
  return: ["function", "bytes"],
  event: ["bytes"],
  mine: ["bytes"],
  mine_get: ["target", "bytes"],
  pillar: [],
  file: ["bytes", "path"],
  auth: ["token"],
  api: ["call", "users", "thinkMs"],
};

function readOperation(place: Place): Operation {
  const kind = place
    .members(["kind", "name", "rate", ...Object.values(ownMembers).flat()])("kind")
    .oneOf(kinds);
  const member = place.members(["kind", "name", "rate", ...ownMembers[kind]]);
  const name = member("name").text(kind);
  if (kind === "api") return { kind, name, ...readApi(member) };
  const rate = member("rate").number({ min: 0.0001, max: perSecondMost });
  const sizes = () => member("bytes").parsed((text) => distribution(text, bytesMost), "64");
  const wholeBytes = (byDefault: number) =>
    member("bytes").number({ min: 0, max: bytesMost, isWhole: true, byDefault });
  switch (kind) {
    case "job":
      return {
        ...{ kind, name, rate, target: readTarget(member("target")), function: member("function").text("state.apply") },
        bytes: sizes(),
        delayMs: member("delayMs").parsed((text) => distribution(text, delayMsMost), delayMsDefault),
      };
    case "return":
      return { kind, name, rate, function: member("function").text("test.ping"), bytes: sizes() };
    case "event":
    case "mine":
      return { kind, name, rate, bytes: wholeBytes(256) };
    case "mine_get":
      return { kind, name, rate, target: member("target").text(), bytes: wholeBytes(256) };
    case "pillar":
      return { kind, name, rate };
    case "file":
      return {
        kind,
        name,
        rate,
        bytes: wholeBytes(4_096),
        path: member("path").isMissing ? "" : member("path").text(),
      };
    case "auth":
      return { kind, name, rate, hasToken: member("token").boolean(true) };
    default: {
      const never: never = kind;
      throw new TypeError(`unknown operation ${String(never)}`);
    }
  }
}

function distribution(text: string, most: number): Distribution {
  const read = parseDistribution(text);
  if (largestOf(read) <= most) return read;
  throw new SaltworksError("USAGE", `takes values up to ${most.toLocaleString("en-US")}, not ${text}`);
}

/** `{share: 10%}`, `{count: 100}` or `{glob: "sim-1*"}`. Default: the whole fleet. */
function readTarget(place: Place): JobTarget {
  if (place.isMissing) return { kind: "share", share: 1 };
  const member = place.members(["share", "count", "glob"]);
  const given = (["share", "count", "glob"] as const).filter((name) => !member(name).isMissing);
  if (given.length !== 1) throw place.refuse("takes one of share, count, glob");
  if (given[0] === "share") return { kind: "share", share: member("share").parsed(percentOf) / 100 };
  if (given[0] === "count") {
    return { kind: "count", count: member("count").number({ min: 1, max: minionsMost, isWhole: true }) };
  }
  return { kind: "glob", glob: member("glob").text() };
}

function readApi(member: (name: string) => Place) {
  const call = member("call");
  if (!call.isMap) throw call.refuse("takes a call such as {client: runner, fun: jobs.list_jobs}");
  const value = call.value as Record<string, unknown>;
  if (value.client === "local" || value.client === undefined) {
    throw call.refuse("takes a client; not 'local', as simulated minions answer no API call: write local_async");
  }
  const [rate, users] = [member("rate"), member("users")];
  if (rate.isMissing === users.isMissing) throw call.refuse("goes with a rate, or with users");
  if (users.isMissing) return { call: value, pace: { rate: rate.number({ min: 0.0001, max: perSecondMost }) } };
  const thinkMs = member("thinkMs").parsed((text) => distribution(text, delayMsMost), "1000");
  return { call: value, pace: { users: users.number({ min: 1, max: usersMost, isWhole: true }), thinkMs } };
}
