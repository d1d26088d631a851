"""Checks examples/clusters/ against the published schema of MPIJob, whose pods' schema is that of the Job's pods, too.

usage: check_manifests.py KUBEFLOW_MPIJOBS_CRD      manifests/base/kubeflow.org_mpijobs.yaml of kubeflow/mpi-operator
Needs the Python packages yaml and jsonschema. Unknown fields are errors, as with kubectl's strict validation.
"""
import pathlib
import sys

import jsonschema
import yaml

CLUSTERS = pathlib.Path(__file__).resolve().parents[4] / "examples/clusters"
JOB = {"completionMode", "completions", "parallelism", "backoffLimit", "template"}  # of batch/v1 JobSpec, what the example uses


def strict(schema):
    """The schema without fields that it does not name."""
    if isinstance(schema, dict):
        closed = {key: strict(value) for key, value in schema.items()}
        if "properties" in schema and "additionalProperties" not in schema:
            closed["additionalProperties"] = False
        return closed
    return [strict(part) for part in schema] if isinstance(schema, list) else schema


def main():
    crd = yaml.safe_load(pathlib.Path(sys.argv[1]).read_text())
    version = next(one for one in crd["spec"]["versions"] if one["name"] == "v2beta1")
    schema = version["schema"]["openAPIV3Schema"]
    schema["properties"]["metadata"]["properties"] = {"name": {"type": "string"}}
    job = yaml.safe_load((CLUSTERS / "mpi_job.yaml").read_text())
    jsonschema.validate(job, strict(schema))

    service, indexed = yaml.safe_load_all((CLUSTERS / "indexed_job.yaml").read_text())
    template = schema["properties"]["spec"]["properties"]["mpiReplicaSpecs"]["additionalProperties"]["properties"]["template"]
    jsonschema.validate(indexed["spec"]["template"], strict(template))
    assert set(indexed["spec"]) <= JOB and indexed["spec"]["completionMode"] == "Indexed"
    pods = indexed["spec"]["template"]["spec"]
    assert pods["subdomain"] == service["metadata"]["name"] and service["spec"]["selector"] == {"job-name": indexed["metadata"]["name"]}
    environment = {one["name"]: one.get("value") for one in pods["containers"][0]["env"]}
    assert int(environment["WORLD_SIZE"]) == indexed["spec"]["completions"] == indexed["spec"]["parallelism"]
    assert environment["MASTER_ADDR"] == f"{indexed['metadata']['name']}-0.{service['metadata']['name']}"
    print("2 manifests are as their schemas say")


if __name__ == "__main__":
    main()
