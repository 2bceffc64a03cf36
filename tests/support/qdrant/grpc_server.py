"""The gRPC face of the Qdrant server on loopback: its requests, answered as those by REST are."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import grpc
from qdrant_client import grpc as wire
from qdrant_client import models
from qdrant_client.conversions.conversion import GrpcToRest, RestToGrpc

from support.qdrant.service import Failure, Request, Service

Answer = Callable[[Service, Any], Any]
_CODES = {
    400: grpc.StatusCode.INVALID_ARGUMENT,
    401: grpc.StatusCode.UNAUTHENTICATED,
    403: grpc.StatusCode.PERMISSION_DENIED,
    404: grpc.StatusCode.NOT_FOUND,
    409: grpc.StatusCode.ALREADY_EXISTS,
    429: grpc.StatusCode.RESOURCE_EXHAUSTED,
}


def _json(model: Any) -> Any:
    return model.model_dump(mode="json", exclude_none=True)


def _ask(service: Service, method: str, path: str, body: Any = None, parameters: str = "") -> Any:
    request = Request(method, path, body, service.key or "", parameters)
    service.requests.append(request)
    status, answer = service.respond(request)
    if status != 200:
        raise Failure(status, answer["status"]["error"])
    return answer["result"]


def _given(message: Any, name: str) -> Any:
    return getattr(message, name) if message.HasField(name) else None


def _consistency(asked: Any) -> str:
    given = _given(asked, "read_consistency")
    if given is None:
        return ""
    read = GrpcToRest.convert_read_consistency(given)
    return f"consistency={getattr(read, 'value', read)}"


# --- collections ------------------------------------------------------------------------------


def _create(service: Service, asked: Any) -> Any:
    hnsw = _given(asked, "hnsw_config")
    vectors: Any = GrpcToRest.convert_vectors_config(asked.vectors_config)
    body = {
        "vectors": {name: _json(params) for name, params in vectors.items()},
        "sparse_vectors": {
            name: _json(params)
            for name, params in GrpcToRest.convert_sparse_vector_config(
                asked.sparse_vectors_config
            ).items()
        },
        "hnsw_config": _json(GrpcToRest.convert_hnsw_config_diff(hnsw)) if hnsw else None,
        "metadata": GrpcToRest.convert_payload(asked.metadata) if asked.metadata else None,
        **{
            name: _given(asked, name)
            for name in (
                "shard_number",
                "replication_factor",
                "write_consistency_factor",
                "on_disk_payload",
            )
        },
    }
    _ask(service, "PUT", f"/collections/{asked.collection_name}", body)
    return wire.CollectionOperationResponse(result=True)


def _update(service: Service, asked: Any) -> Any:
    hnsw = _given(asked, "hnsw_config")
    body = {"hnsw_config": _json(GrpcToRest.convert_hnsw_config_diff(hnsw))} if hnsw else {}
    _ask(service, "PATCH", f"/collections/{asked.collection_name}", body)
    return wire.CollectionOperationResponse(result=True)


def _delete_collection(service: Service, asked: Any) -> Any:
    result = _ask(service, "DELETE", f"/collections/{asked.collection_name}")
    return wire.CollectionOperationResponse(result=result)


def _info(service: Service, asked: Any) -> Any:
    told = _ask(service, "GET", f"/collections/{asked.collection_name}")
    info = RestToGrpc.convert_collection_info(models.CollectionInfo(**told))
    return wire.GetCollectionInfoResponse(result=info)


def _cluster(service: Service, asked: Any) -> Any:
    told = _ask(service, "GET", f"/collections/{asked.collection_name}/cluster")
    info = models.CollectionClusterInfo(**told)
    return RestToGrpc.convert_collection_cluster_info(info)


def _exists(service: Service, asked: Any) -> Any:
    told = _ask(service, "GET", f"/collections/{asked.collection_name}/exists")
    return wire.CollectionExistsResponse(result=wire.CollectionExists(exists=told["exists"]))


def _aliases(service: Service, asked: Any) -> Any:
    named = getattr(asked, "collection_name", "")
    path = f"/collections/{named}/aliases" if named else "/aliases"
    held = _ask(service, "GET", path)["aliases"]
    return wire.ListAliasesResponse(aliases=[wire.AliasDescription(**one) for one in held])


def _change_aliases(service: Service, asked: Any) -> Any:
    actions = [_json(GrpcToRest.convert_alias_operations(one)) for one in asked.actions]
    _ask(service, "POST", "/collections/aliases", {"actions": actions})
    return wire.CollectionOperationResponse(result=True)


# --- points -----------------------------------------------------------------------------------


def _updated(service: Service, method: str, path: str, body: Any) -> Any:
    told = models.UpdateResult(**_ask(service, method, path, body))
    return wire.PointsOperationResponse(result=RestToGrpc.convert_update_result(told))


def _upsert(service: Service, asked: Any) -> Any:
    points = [_json(GrpcToRest.convert_point_struct(one)) for one in asked.points]
    path = f"/collections/{asked.collection_name}/points"
    return _updated(service, "PUT", path, {"points": points})


def _delete(service: Service, asked: Any) -> Any:
    body = _json(GrpcToRest.convert_points_selector(asked.points))
    return _updated(service, "POST", f"/collections/{asked.collection_name}/points/delete", body)


def _create_index(service: Service, asked: Any) -> Any:
    kind = wire.FieldType.Name(asked.field_type).removeprefix("FieldType").lower()
    body = {"field_name": asked.field_name, "field_schema": kind}
    return _updated(service, "PUT", f"/collections/{asked.collection_name}/index", body)


def _selection(asked: Any) -> dict[str, Any]:
    payload = GrpcToRest.convert_with_payload_selector(asked.with_payload)
    return {
        "with_payload": payload if isinstance(payload, bool | list) else _json(payload),
        "with_vector": GrpcToRest.convert_with_vectors_selector(asked.with_vectors),
    }


def _retrieved(told: Any) -> Any:
    record = models.Record(**{**told, "payload": told["payload"] or {}})
    return RestToGrpc.convert_retrieved_point(record)


def _get(service: Service, asked: Any) -> Any:
    ids = [GrpcToRest.convert_point_id(one) for one in asked.ids]
    body = {"ids": ids, **_selection(asked)}
    path = f"/collections/{asked.collection_name}/points"
    found = _ask(service, "POST", path, body, _consistency(asked))
    return wire.GetResponse(result=[_retrieved(one) for one in found])


def _scroll(service: Service, asked: Any) -> Any:
    offset = _given(asked, "offset")
    body = {
        "limit": asked.limit,
        "offset": GrpcToRest.convert_point_id(offset) if offset else None,
        **_selection(asked),
    }
    told = _ask(service, "POST", f"/collections/{asked.collection_name}/points/scroll", body)
    following = told["next_page_offset"]
    return wire.ScrollResponse(
        result=[_retrieved(one) for one in told["points"]],
        next_page_offset=None
        if following is None
        else RestToGrpc.convert_extended_point_id(following),
    )


def _count(service: Service, asked: Any) -> Any:
    told = _ask(service, "POST", f"/collections/{asked.collection_name}/points/count", {})
    return wire.CountResponse(result=wire.CountResult(count=told["count"]))


def _query_batch(service: Service, asked: Any) -> Any:
    searches = [_json(GrpcToRest.convert_query_points(one)) for one in asked.query_points]
    path = f"/collections/{asked.collection_name}/points/query/batch"
    told = _ask(service, "POST", path, {"searches": searches}, _consistency(asked))
    return wire.QueryBatchResponse(
        result=[
            wire.BatchResult(
                result=[
                    RestToGrpc.convert_scored_point(models.ScoredPoint(**point))
                    for point in answer["points"]
                ]
            )
            for answer in told
        ]
    )


def _health(service: Service, _asked: Any) -> Any:
    return wire.HealthCheckReply(title="qdrant", version=service.version)


_METHODS: dict[str, tuple[Any, Answer]] = {
    "/qdrant.Qdrant/HealthCheck": (wire.HealthCheckRequest, _health),
    "/qdrant.Collections/Create": (wire.CreateCollection, _create),
    "/qdrant.Collections/Update": (wire.UpdateCollection, _update),
    "/qdrant.Collections/Delete": (wire.DeleteCollection, _delete_collection),
    "/qdrant.Collections/Get": (wire.GetCollectionInfoRequest, _info),
    "/qdrant.Collections/CollectionClusterInfo": (wire.CollectionClusterInfoRequest, _cluster),
    "/qdrant.Collections/CollectionExists": (wire.CollectionExistsRequest, _exists),
    "/qdrant.Collections/ListAliases": (wire.ListAliasesRequest, _aliases),
    "/qdrant.Collections/ListCollectionAliases": (wire.ListCollectionAliasesRequest, _aliases),
    "/qdrant.Collections/UpdateAliases": (wire.ChangeAliases, _change_aliases),
    "/qdrant.Points/Upsert": (wire.UpsertPoints, _upsert),
    "/qdrant.Points/Delete": (wire.DeletePoints, _delete),
    "/qdrant.Points/CreateFieldIndex": (wire.CreateFieldIndexCollection, _create_index),
    "/qdrant.Points/Get": (wire.GetPoints, _get),
    "/qdrant.Points/Scroll": (wire.ScrollPoints, _scroll),
    "/qdrant.Points/Count": (wire.CountPoints, _count),
    "/qdrant.Points/QueryBatch": (wire.QueryBatchPoints, _query_batch),
}


class _Face(grpc.GenericRpcHandler):  # type: ignore[misc]
    def __init__(self, service: Service) -> None:
        self._service = service

    def service(self, handler_call_details: Any) -> Any:
        if handler_call_details.method not in _METHODS:
            return None
        kind, answer = _METHODS[handler_call_details.method]

        def handle(asked: Any, context: Any) -> Any:
            try:
                return answer(self._service, asked)
            except Failure as failure:
                code = _CODES.get(failure.status, grpc.StatusCode.INTERNAL)
                context.abort(code, str(failure))

        return grpc.unary_unary_rpc_method_handler(
            handle,
            request_deserializer=kind.FromString,
            response_serializer=lambda reply: reply.SerializeToString(),
        )


@contextmanager
def serve_grpc(service: Service) -> Iterator[int]:
    """The port on which `service` also speaks gRPC."""
    server = grpc.server(ThreadPoolExecutor(4), handlers=(_Face(service),))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield int(port)
    finally:
        server.stop(None).wait()
