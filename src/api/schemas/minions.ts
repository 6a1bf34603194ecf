/** Schemas of `/minions` and `/keys`. */
import { forMinions } from "./commands.ts";
import {
  answers,
  binary,
  bodies,
  bySession,
  type Components,
  closed,
  errors,
  listOf,
  mapOf,
  object,
  open,
  type RouteSchema,
  ref,
  text,
  texts,
} from "./forms.ts";

export const minionComponents: Components = {
  Grains: {
    ...mapOf({ type: ["object", "boolean", "string"] }),
    description: "Grains by minion. False: the minion did not answer.",
  },
  JobCommand: {
    ...object(forMinions, ["tgt", "fun"]),
    description: "A command of the client local_async, whatever its `client` says.",
  },
  StartedJobs: closed({
    return: listOf(ref("StartedJob")),
    _links: closed({ jobs: listOf(closed({ href: text })) }),
  }),
  Keys: {
    ...mapOf(texts),
    description:
      "Ids by state: `minions` (accepted), `minions_pre`, `minions_rejected`, `minions_denied`, and `local`.",
  },
  KeyFingerprints: {
    ...mapOf(mapOf(text)),
    description: "Fingerprints by id, by state. Empty if there is no such key.",
  },
  KeyPairRequest: {
    allOf: [
      object(
        {
          mid: { type: "string", pattern: "^[\\w.@+-]+$", description: "The minion's id." },
          keysize: { type: ["integer", "string"], description: "Bits." },
          force: { type: ["boolean", "string", "null"], description: "Replaces an accepted key." },
        },
        ["mid"],
      ),
      ref("OwnCredentials"),
    ],
  },
};

const id = object({ id: { type: "string", description: "The minion's id." } }, ["id"]);
const grains = answers("The grains.", closed({ return: listOf(ref("Grains")) }));

export const listMinionsSchema: RouteSchema = {
  operationId: "listMinions",
  summary: "Grains of all minions.",
  description: "Runs `grains.items` on the minions.",
  tags: ["minions"],
  security: bySession,
  response: { 200: grains },
  "x-errors": errors(401, 504),
};

export const getMinionSchema: RouteSchema = {
  ...listMinionsSchema,
  operationId: "getMinion",
  summary: "Grains of the minions that a glob matches.",
  params: id,
  "x-errors": errors(401, 404, 504),
};

export const startJobsSchema: RouteSchema = {
  operationId: "startJobs",
  summary: "Starts jobs, and answers with links to them.",
  tags: ["minions"],
  security: bySession,
  body: bodies({ oneOf: [ref("JobCommand"), listOf(ref("JobCommand"))] }, ref("FormCommand")),
  response: { 202: answers("The jobs have started.", ref("StartedJobs")) },
  "x-errors": errors(401, 413, 504),
};

export const listKeysSchema: RouteSchema = {
  operationId: "listKeys",
  summary: "Names of keys by state.",
  tags: ["keys"],
  security: bySession,
  response: { 200: answers("The keys.", closed({ return: ref("Keys") })) },
  "x-errors": errors(401, 504),
};

export const getKeySchema: RouteSchema = {
  operationId: "getKeyFingerprints",
  summary: "Fingerprints of the keys that a glob matches.",
  tags: ["keys"],
  security: bySession,
  params: id,
  response: { 200: answers("The fingerprints.", closed({ return: ref("KeyFingerprints") })) },
  "x-errors": errors(401, 404, 504),
};

export const createKeyPairSchema: RouteSchema = {
  operationId: "createKeyPair",
  summary: "Makes a minion's key pair and accepts it.",
  description: "Credentials are in the body, as for `POST /run`.",
  tags: ["keys"],
  security: open,
  body: bodies(ref("KeyPairRequest"), ref("KeyPairRequest")),
  response: {
    200: {
      description: "An archive of `minion.pub` and `minion.pem`.",
      content: { "application/x-tar": binary },
    },
  },
  "x-headers": { 200: ["Content-Disposition"] },
  "x-errors": errors(401, 409, 413),
};
