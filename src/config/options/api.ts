/** Options of the HTTP API. The block `rest_cherrypy` has Salt's names; ../api-settings.ts reads it. */
import { list, map, number, text } from "./option.ts";

const secondsMax = 86_400;

export const apiOptions = {
  rest_cherrypy: map(
    {},
    "The HTTP API, with Salt's names: `port`, `host`, `ssl_crt`, `ssl_key`, `disable_ssl` and others. docs/http-api.md explains each.",
  ),
  netapi_enable_clients: list(
    [],
    "Clients that the HTTP API runs: `local`, `local_async`, `local_batch`, `local_subset`, `runner`, `runner_async`, `wheel`, `wheel_async`. Empty: none, as in Salt.",
  ),
  rest_timeout: number(300, "How long one HTTP request waits for its job or its runner.", {
    min: 1,
    max: secondsMax,
    unit: "seconds",
  }),
  api_pidfile: text("/var/run/salt-api.pid", "File with the process id of the HTTP API.", { isPath: true }),
  api_logfile: text("/var/log/salt/api", "Log file of the HTTP API.", { isPath: true }),
};
