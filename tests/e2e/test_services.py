# SPDX-License-Identifier: Apache-2.0
"""Reflection and health, with the clients that PyPI has for them."""

from __future__ import annotations

import threading

import grpc
import pytest
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

import raw
from harness import Daemon, wait_until

OPTIONS = [("grpc.enable_http_proxy", 0)]


def test_reflection_lists_services_methods_and_fields(daemon: Daemon) -> None:
    with grpc.insecure_channel(daemon.address, options=OPTIONS) as channel:
        database = ProtoReflectionDescriptorDatabase(channel)
        assert set(database.get_services()) == {
            "kernrig.v1.Kernrig",
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection",
        }
        pool = descriptor_pool.DescriptorPool(database)
        service = pool.FindServiceByName("kernrig.v1.Kernrig")
        assert {method.name for method in service.methods} == {
            *("ServerInfo", "OpenSession", "CloseSession", "ListOperators"),
            *("CreateBuffer", "FreeBuffers", "Execute"),
        }
        fields = pool.FindMessageTypeByName("kernrig.v1.Tensor").fields_by_name
        assert {"buffer", "offset", "dtype", "sizes", "strides"} <= set(fields)


def test_reflection_answers_what_it_does_not_know(daemon: Daemon) -> None:
    requests = [
        reflection_pb2.ServerReflectionRequest(file_containing_symbol="nope.Nope"),
        reflection_pb2.ServerReflectionRequest(file_by_filename="nope.proto"),
        reflection_pb2.ServerReflectionRequest(all_extension_numbers_of_type="x"),
        reflection_pb2.ServerReflectionRequest(),
        reflection_pb2.ServerReflectionRequest(list_services=""),
    ]
    with grpc.insecure_channel(daemon.address, options=OPTIONS) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        answers = list(stub.ServerReflectionInfo(iter(requests), timeout=20))
    assert [answer.WhichOneof("message_response") for answer in answers] == [
        *["error_response"] * 4,
        "list_services_response",
    ]
    assert [a.error_response.error_code for a in answers[:4]] == [5] * 4  # NOT_FOUND


def test_both_versions_of_reflection(daemon: Daemon) -> None:
    with raw.stub(daemon.socket) as stub:
        channel = stub._channel
        question = reflection_pb2.ServerReflectionRequest(list_services="").SerializeToString()
        for version in ("v1", "v1alpha"):
            path = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
            call = channel.stream_stream(path, raw.as_it_is, raw.as_it_is)
            (answer,) = call(iter([question]), timeout=20)
            message = reflection_pb2.ServerReflectionResponse.FromString(answer)
            assert len(message.list_services_response.service) == 4
            with pytest.raises(grpc.RpcError) as info:
                list(call(iter([b"\xff\xff\xff"]), timeout=20))
            assert info.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_health(daemon: Daemon) -> None:
    with grpc.insecure_channel(daemon.address, options=OPTIONS) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for service in ("", "kernrig.v1.Kernrig"):
            reply = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=20)
            assert reply.status == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.RpcError) as info:
            stub.Check(health_pb2.HealthCheckRequest(service="nope"), timeout=20)
        assert info.value.code() == grpc.StatusCode.NOT_FOUND


def test_watching_health_until_the_daemon_stops(start_daemon) -> None:  # type: ignore[no-untyped-def]
    """A watcher does not hold the daemon up."""
    daemon = start_daemon()
    channel = grpc.insecure_channel(daemon.address, options=OPTIONS)
    stub = health_pb2_grpc.HealthStub(channel)
    seen: list[int] = []
    ended = threading.Event()

    def watch() -> None:
        try:
            for reply in stub.Watch(health_pb2.HealthCheckRequest(service="")):
                seen.append(reply.status)
        except grpc.RpcError:
            ended.set()

    thread = threading.Thread(target=watch)
    thread.start()
    wait_until(lambda: len(seen) == 1, "the first status")
    daemon.process.terminate()
    assert daemon.process.wait(20) == 0
    assert ended.wait(20)
    thread.join()
    channel.close()
    assert seen == [health_pb2.HealthCheckResponse.SERVING]
    assert "rpc.cancelling" not in daemon.log()  # it did not wait for its grace


def test_a_watcher_that_leaves_is_forgotten(daemon: Daemon) -> None:
    with grpc.insecure_channel(daemon.address, options=OPTIONS) as channel:
        call = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert next(iter(call)).status == health_pb2.HealthCheckResponse.SERVING
        call.cancel()
        unknown = health_pb2_grpc.HealthStub(channel).Watch(
            health_pb2.HealthCheckRequest(service="nope")
        )
        assert next(iter(unknown)).status == health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
        unknown.cancel()
