/** The metric of the HTTP API's process, which the program that runs the master watches. */
import { metric } from "./metric.ts";

export const apiProcess = {
  saltworks_api_restarts_total: metric(
    "counter",
    [],
    "Starts of the HTTP API after its first one: it had ended by itself. 0 without `rest_cherrypy`.",
  ),
};
