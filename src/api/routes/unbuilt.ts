/** Endpoints that this release does not have. Each answers 501 with its name. */
import type { FastifyInstance } from "fastify";
import { ApiError } from "../http/errors.ts";

const unbuilt = [
  ["POST", "/"],
  ["POST", "/run"],
  ["POST", "/token"],
  ["GET", "/minions"],
  ["GET", "/minions/:mid"],
  ["POST", "/minions"],
  ["GET", "/jobs"],
  ["GET", "/jobs/:jid"],
  ["GET", "/keys"],
  ["GET", "/keys/:mid"],
  ["POST", "/keys"],
  ["GET", "/stats"],
  ["GET", "/events"],
  ["GET", "/ws"],
  ["GET", "/ws/:token"],
] as const;

export function unbuiltRoutes(app: FastifyInstance, webhookPath: string): void {
  const hooks = [webhookPath, `${webhookPath}/*`].map((path) => ["POST", path] as const);
  for (const [method, url] of [...unbuilt, ...hooks])
    app.route({
      method,
      url,
      handler: async () => {
        throw new ApiError(501, `${method} ${url} is not available in this release`);
      },
    });
}
