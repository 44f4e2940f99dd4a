//! The description of the API (OpenAPI), completed from what all routes share: who may ask, and the
//! form of errors.
//!
//! Each handler declares its own answers. The answers of the guard and the extractors in place of these are declared
//! here, once, as every error is a [`Problem`].

use utoipa::openapi::path::Operation;
use utoipa::openapi::security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder};
use utoipa::openapi::security::{SecurityRequirement, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{PartialSchema, ToSchema};

use super::guard::COOKIE;
use crate::problem::{MEDIA_TYPE, Problem};

/// Bytes as they are.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct Octets(Vec<u8>);

/// A report that a worker has written; docs/report-schema.md has its fields.
#[derive(ToSchema)]
#[schema(value_type = Object)]
#[expect(dead_code, reason = "only the schema is used")]
pub(super) struct ReportFile(String);

/// The name of the answer that tells an error.
const ERROR: &str = "Problem";
/// The statuses of errors, as ranges.
const ERRORS: [&str; 2] = ["4XX", "5XX"];

/// Adds what all routes share.
pub(super) fn complete(mut document: OpenApi) -> OpenApi {
    let schemas = document.components.get_or_insert_default();
    let name = Problem::name().into_owned();
    schemas.schemas.insert(name.clone(), Problem::schema());
    let problem = Ref::from_schema_name(name);
    let content = Content::new(Some(problem.clone()));
    let response = ResponseBuilder::new()
        .description("Why the request was not carried out")
        .content(MEDIA_TYPE, content)
        .build();
    schemas.responses.insert(ERROR.to_owned(), response.into());
    let bearer = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build();
    let cookie = SecurityScheme::ApiKey(ApiKey::Cookie(ApiKeyValue::new(COOKIE)));
    let ways = [("token", SecurityScheme::Http(bearer)), ("cookie", cookie)];
    for (name, scheme) in ways {
        schemas
            .security_schemes
            .insert(name.to_owned(), scheme.into());
    }
    let required = ["token", "cookie"].map(|name| SecurityRequirement::new(name, [""; 0]));
    document.security = Some(required.to_vec());
    for operation in operations(&mut document) {
        let responses = &mut operation.responses.responses;
        for response in responses.values_mut() {
            if let RefOr::T(response) = response {
                as_problem(response, &problem);
            }
        }
        for range in ERRORS {
            let error = RefOr::Ref(Ref::from_response_name(ERROR));
            responses.entry(range.to_owned()).or_insert(error);
        }
    }
    document
}

/// The operations of a document.
fn operations(document: &mut OpenApi) -> impl Iterator<Item = &mut Operation> {
    document.paths.paths.values_mut().flat_map(|item| {
        let all = [
            &mut item.get,
            &mut item.put,
            &mut item.post,
            &mut item.delete,
            &mut item.options,
            &mut item.head,
            &mut item.patch,
        ];
        all.into_iter().flatten()
    })
}

/// Gives the content of an answer that is a problem the media type that problems have.
fn as_problem(response: &mut Response, problem: &Ref) {
    let is_problem = |content: &RefOr<Content>| match content {
        RefOr::T(Content {
            schema: Some(RefOr::Ref(schema)),
            ..
        }) => schema.ref_location == problem.ref_location,
        _ => false,
    };
    if response.content.values().any(is_problem) {
        let contents = std::mem::take(&mut response.content);
        let named = contents.into_values().map(|it| (MEDIA_TYPE.to_owned(), it));
        response.content = named.collect();
    }
}

#[cfg(test)]
mod tests {
    use super::super::document;
    use serde_json::Value;

    /// Calls a function for each reference in a document.
    fn each_reference(value: &Value, found: &mut impl FnMut(&str)) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    match value {
                        Value::String(to) if key == "$ref" => found(to),
                        _ => each_reference(value, found),
                    }
                }
            }
            Value::Array(values) => values.iter().for_each(|it| each_reference(it, found)),
            _ => {}
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let document = serde_json::to_value(document()).unwrap();
        let (mut count, mut broken) = (0, Vec::new());
        each_reference(&document, &mut |to| {
            count += 1;
            let place = to.strip_prefix('#').and_then(|at| document.pointer(at));
            if place.is_none() {
                broken.push(to.to_owned());
            }
        });
        assert!(count > 100, "{count} references");
        assert!(broken.is_empty(), "{broken:?}");
    }

    #[test]
    fn every_operation_declares_success_with_its_content_and_errors_as_problems() {
        let document = serde_json::to_value(document()).unwrap();
        let paths = document["paths"].as_object().unwrap();
        let mut count = 0;
        for (path, methods) in paths {
            for (method, operation) in methods.as_object().unwrap() {
                count += 1;
                let responses = operation["responses"].as_object().unwrap();
                let at = format!("{method} {path}");
                let mut has_success = false;
                for (status, response) in responses {
                    let content = response["content"].as_object();
                    if status.starts_with('2') {
                        has_success = true;
                        // The rest of these protocols is in headers.
                        let is_empty = ["201", "204"].contains(&&**status)
                            && (path.contains("/uploads") || status == "204");
                        let is_bare = method == "head" || is_empty;
                        assert_eq!(content.is_none(), is_bare, "{at} {status}");
                    } else if let Some(content) = content {
                        let kinds: Vec<_> = content.keys().collect();
                        assert_eq!(kinds, ["application/problem+json"], "{at} {status}");
                    } else {
                        let to = &response["$ref"];
                        assert_eq!(to, "#/components/responses/Problem", "{at} {status}");
                    }
                }
                assert!(has_success && responses.contains_key("4XX"), "{at}");
            }
        }
        assert!(count > 50, "{count} operations");
    }
}
