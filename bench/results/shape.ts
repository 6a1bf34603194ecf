/** Checks parsed JSON against the schema of results, and names the first field that is missing or wrong. */
import type { MasterKind, OperationResult, Point, RunResult } from "./schema.ts";

type Kind = "string" | "number" | "boolean" | "list" | "map";
/** The type of a field, the fields of an object, or one shape for every value of a list or map. */
type Shape = Kind | { readonly [field: string]: Shape } | Each;

class Each {
  readonly kind: "list" | "map";
  readonly shape: Shape;

  constructor(kind: Each["kind"], shape: Shape) {
    this.kind = kind;
    this.shape = shape;
  }
}

type ShapeOf<Fields> = { readonly [field in keyof Required<Fields>]: Shape };

const operation: ShapeOf<Omit<OperationResult, "fromMasterBytes" | "loop" | "toMasterBytes">> = {
  planned: "number",
  sent: "number",
  completed: "number",
  failed: "number",
  timedOut: "number",
  late: "number",
  histogram: "string",
  percentilesUs: { p50: "number", p90: "number", p99: "number", p999: "number", max: "number" },
  perSecond: "number",
};

const point: ShapeOf<Omit<Point, "generator" | "intervals" | "isUsageUnknown" | "memory" | "network" | "storage">> & {
  readonly generator: ShapeOf<Omit<Point["generator"], "agents" | "otherShare" | "voidCause">>;
  readonly memory: Shape;
} = {
  label: "string",
  parameters: "map",
  wallMs: "number",
  operations: new Each("map", operation),
  cpu: { totalMs: "number", usPerOperation: "number", byThreadMs: new Each("map", "number") },
  memory: { rssBytes: "number", peakRssBytes: "number" },
  series: { atMs: "list", values: new Each("map", "list") },
  correctness: {
    expected: "number",
    accounted: "number",
    missing: "number",
    duplicates: "number",
    errors: new Each("map", "number"),
  },
  generator: {
    cpuShare: "number",
    loopDelayP99Ms: "number",
    lateSends: "number",
    isVoid: "boolean",
    voidReasons: "list",
  },
  figures: "map",
};

const master = { kind: "string", version: "string", config: "map" } as const;

const result: ShapeOf<Omit<RunResult, "comparisons" | "peers" | "thresholds" | "curve" | "advice">> = {
  schema: "string",
  startedAt: "string",
  tool: { version: "string", commit: "string" },
  machine: {
    node: "string",
    cpu: "string",
    cores: "number",
    memoryBytes: "number",
    kernel: "string",
    loadAverage: "number",
  },
  scenario: { name: "string", version: "number", question: "string", parameters: "map" },
  master,
  points: new Each("list", point),
};

const masterKinds: readonly string[] = ["saltworks", "salt", "floor", "unknown"] satisfies MasterKind[];

/** @returns the first fault, such as `points[2].cpu is not a map`; undefined for a valid result */
export function faultInResult(value: object): string | undefined {
  const fault = faultIn(value, result, "");
  if (fault !== undefined) return fault;
  const { peers = [], ...own } = value as RunResult;
  const ofPeers = faultIn(peers, new Each("list", { master, points: new Each("list", point) }), "peers");
  if (ofPeers !== undefined) return ofPeers;
  const stranger = [own, ...peers].find(({ master: { kind } }) => !masterKinds.includes(kind));
  return stranger && `${stranger.master.kind} is not a kind of master`;
}

function faultIn(value: unknown, shape: Shape, path: string): string | undefined {
  if (typeof shape === "string") return kindOf(value) === shape ? undefined : `${path} is not a ${shape}`;
  const kind = shape instanceof Each ? shape.kind : "map";
  if (kindOf(value) !== kind) return `${path} is not a ${kind}`;
  const fields = value as Readonly<Record<string, unknown>>;
  const names = shape instanceof Each ? Object.keys(fields) : Object.keys(shape);
  for (const name of names) {
    const own = shape instanceof Each ? shape.shape : shape[name];
    const fault = own && faultIn(fields[name], own, kind === "list" ? `${path}[${name}]` : join(path, name));
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function kindOf(value: unknown): Kind | "nothing" {
  // JSON writes NaN and infinity as null.
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "list";
  if (typeof value === "object") return "map";
  return typeof value as Kind;
}

function join(path: string, name: string): string {
  return path === "" ? name : `${path}.${name}`;
}
