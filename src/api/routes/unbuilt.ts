/** Endpoints that this release does not have. Each answers 501 with its name. */
import type { FastifyInstance } from "fastify";
import { ApiError } from "../http/errors.ts";

const unbuilt = ["/ws", "/ws/:token"] as const;

export function unbuiltRoutes(app: FastifyInstance): void {
  for (const url of unbuilt)
    app.get(url, async () => {
      throw new ApiError(501, `GET ${url} is not available in this release`);
    });
}
